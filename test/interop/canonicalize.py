"""Reads JSON texts, one a line, and writes the canonical text of each on a line of its own."""

import sys

from canonical_reference import canonical, parse

for line in sys.stdin.buffer:
    sys.stdout.buffer.write(canonical(parse(line.decode("utf-8"))) + b"\n")
