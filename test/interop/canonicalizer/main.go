// Reads JSON texts, one a line, and writes the SHA-256 of the canonical text of each, as somebody else's RFC 8785 code has it.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
)

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return
		}
		text, err := jsoncanonicalizer.Transform(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			fmt.Fprintf(out, "refused: %v\n", err)
			continue
		}
		fmt.Fprintf(out, "sha256:%x\n", sha256.Sum256(text))
	}
}
