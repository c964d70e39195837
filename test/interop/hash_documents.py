"""Reads JSON texts, one a line, and writes the hash of each as a receipt has it, on a line of its own."""

import sys

from canonical_reference import hash_of, parse

for line in sys.stdin.buffer:
    sys.stdout.write(hash_of(parse(line.decode("utf-8"))) + "\n")
