// Verifies receipt logs, their signed heads and proofs with the Go team's own code for notes and trees.
//
//	verifier -vkey KEY [-vkey KEY ...] [-anchors FILE ...] log LOG.jsonl
//	                                    the log, with <log>.heads and <log>.head beside it, and heads kept elsewhere
//	verifier -vkey KEY [-vkey KEY ...] proof PROOF.json
//
// Exit 0: what was asked holds. 1: something contradicts. 2: it cannot be said.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// verdict is what the program exits with; the first contradiction outranks everything that cannot be said.
type verdict struct {
	code   int
	reason string
}

func (v *verdict) add(code int, format string, args ...any) {
	if v.code == 1 || (v.code == 2 && code == 2) {
		return
	}
	v.code, v.reason = code, fmt.Sprintf(format, args...)
}

type keys []note.Verifier

func (k *keys) String() string { return "" }
func (k *keys) Set(text string) error {
	verifier, err := note.NewVerifier(text)
	if err == nil {
		*k = append(*k, verifier)
	}
	return err
}

type paths []string

func (p *paths) String() string { return "" }
func (p *paths) Set(text string) error {
	*p = append(*p, text)
	return nil
}

type head struct {
	origin string
	size   int64
	root   tlog.Hash
}

type line struct {
	Record string `json:"record"`
	Chain  struct {
		Log  string  `json:"log"`
		Seq  int64   `json:"seq"`
		Prev *string `json:"prev"`
	} `json:"chain"`
}

func main() {
	var trusted keys
	var anchors paths
	flag.Var(&trusted, "vkey", "verifier key that is trusted")
	flag.Var(&anchors, "anchors", "file of heads that were kept elsewhere")
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(64)
	}
	var v verdict
	switch flag.Arg(0) {
	case "log":
		checkLog(&v, flag.Arg(1), anchors, note.VerifierList(trusted...))
	case "proof":
		checkProof(&v, flag.Arg(1), note.VerifierList(trusted...))
	default:
		os.Exit(64)
	}
	if v.code != 0 {
		fmt.Println(v.reason)
	}
	os.Exit(v.code)
}

// checkLog follows the chain, then holds every head against the tree over the lines.
func checkLog(v *verdict, path string, anchors paths, trusted note.Verifiers) {
	data, err := os.ReadFile(path)
	if err != nil {
		v.add(2, "%v", err)
		return
	}
	lines := bytes.Split(data, []byte("\n"))
	if len(lines[len(lines)-1]) > 0 {
		v.add(1, "bytes after the last newline")
	}
	lines = lines[:len(lines)-1]
	var stored hashes
	var log string
	var prev tlog.Hash
	closed := false
	for i, text := range lines {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			v.add(1, "line %d: %v", i+1, err)
		}
		if i == 0 {
			log = l.Chain.Log
		}
		switch {
		case closed:
			v.add(1, "line %d: the log is closed", i+1)
		case l.Chain.Log != log || l.Chain.Seq != int64(i):
			v.add(1, "line %d: it belongs elsewhere", i+1)
		case (l.Chain.Prev == nil) != (i == 0):
			v.add(1, "line %d: it names no line before it", i+1)
		case i > 0 && *l.Chain.Prev != hex.EncodeToString(prev[:]):
			v.add(1, "line %d: it names another line before it", i+1)
		}
		closed = l.Record == "segment_close"
		prev = tlog.RecordHash(text)
		more, err := tlog.StoredHashes(int64(i), text, &stored)
		if err != nil {
			v.add(1, "line %d: %v", i+1, err)
			return
		}
		stored = append(stored, more...)
	}
	if !closed {
		v.add(2, "no closing line")
	}
	for _, file := range anchors {
		checkAnchors(v, file, log, int64(len(lines)), &stored, trusted)
	}
	folder := filepath.Dir(path)
	covered := checkHeads(v, filepath.Join(folder, log+".heads"), log, int64(len(lines)), &stored, trusted)
	latest := checkHeads(v, filepath.Join(folder, log+".head"), log, int64(len(lines)), &stored, trusted)
	// The latest head may be an earlier entry: a rename can be lost, an entry that was synced cannot.
	if latest == 0 || max(covered, latest) < int64(len(lines)) {
		v.add(2, "signed heads cover %d and %d of %d lines", covered, latest, len(lines))
	}
}

// checkHeads returns how many lines the last good head of a file covers.
func checkHeads(v *verdict, path, log string, lines int64, stored *hashes, trusted note.Verifiers) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		v.add(2, "%v", err)
		return 0
	}
	var covered int64
	for _, text := range entries(string(data)) {
		h, ok := openHead(v, text, trusted)
		if !ok {
			continue
		}
		if h.origin[strings.LastIndex(h.origin, "/")+1:] != log {
			v.add(1, "%s: a head of another log", path)
			continue
		}
		if h.size > lines || h.size <= covered {
			v.add(1, "%s: a head over %d of %d lines, after %d", path, h.size, lines, covered)
			continue
		}
		root, err := tlog.TreeHash(h.size, stored)
		if err != nil || root != h.root {
			v.add(1, "%s: the first %d lines have another root", path, h.size)
			continue
		}
		covered = h.size
	}
	return covered
}

// checkAnchors holds the lines against heads of the log that were kept elsewhere; those of other logs are passed over.
func checkAnchors(v *verdict, path, log string, lines int64, stored *hashes, trusted note.Verifiers) {
	data, err := os.ReadFile(path)
	if err != nil {
		v.add(2, "%v", err)
		return
	}
	for _, text := range entries(string(data)) {
		origin, _, _ := strings.Cut(text, "\n")
		if origin[strings.LastIndex(origin, "/")+1:] != log {
			continue
		}
		h, ok := openHead(v, text, trusted)
		if !ok {
			continue
		}
		if h.size > lines {
			v.add(1, "%s: a head over %d lines, there are %d", path, h.size, lines)
			continue
		}
		if root, err := tlog.TreeHash(h.size, stored); err != nil || root != h.root {
			v.add(1, "%s: the first %d lines have another root", path, h.size)
		}
	}
}

// entries parts a file of heads: three lines, a blank one, signature lines.
func entries(data string) []string {
	var found []string
	lines := strings.SplitAfter(data, "\n")
	for at := 0; at < len(lines) && lines[at] != ""; {
		end := min(at+4, len(lines))
		for end < len(lines) && strings.HasPrefix(lines[end], "— ") {
			end++
		}
		found = append(found, strings.Join(lines[at:end], ""))
		at = end
	}
	return found
}

// openHead verifies a note and reads the checkpoint in it.
func openHead(v *verdict, text string, trusted note.Verifiers) (head, bool) {
	var h head
	opened, err := note.Open([]byte(text), trusted)
	var unverified *note.UnverifiedNoteError
	switch {
	case errors.As(err, &unverified):
		v.add(2, "no trusted key has signed: %v", err)
		return h, false
	case err != nil && isUnsigned(text):
		v.add(2, "a head without a signature")
		return h, false
	case err != nil:
		v.add(1, "a head that is none: %v", err)
		return h, false
	}
	parts := strings.Split(opened.Text, "\n")
	if len(parts) != 4 {
		v.add(1, "a head of %d lines", len(parts)-1)
		return h, false
	}
	size, sizeErr := strconv.ParseInt(parts[1], 10, 64)
	root, rootErr := base64.StdEncoding.Strict().DecodeString(parts[2])
	if sizeErr != nil || rootErr != nil || len(root) != tlog.HashSize || strconv.FormatInt(size, 10) != parts[1] {
		v.add(1, "a head that is no checkpoint")
		return h, false
	}
	h.origin, h.size = parts[0], size
	copy(h.root[:], root)
	slash := strings.LastIndex(h.origin, "/")
	for _, signature := range opened.Sigs {
		if slash > 0 && signature.Name == h.origin[:slash] {
			return h, true
		}
	}
	v.add(2, "no key of the name in the origin has signed")
	return h, false
}

func isUnsigned(text string) bool {
	return strings.HasPrefix(text, "toolspan/") && strings.Count(text, "\n") == 4 && strings.HasSuffix(text, "\n\n")
}

func checkProof(v *verdict, path string, trusted note.Verifiers) {
	data, err := os.ReadFile(path)
	if err != nil {
		v.add(2, "%v", err)
		return
	}
	var proof struct {
		Line     string `json:"line"`
		Openings []any  `json:"openings"`
		Proof    string `json:"proof"`
	}
	if err := json.Unmarshal(data, &proof); err != nil {
		v.add(1, "%v", err)
		return
	}
	top, text, _ := strings.Cut(proof.Proof, "\n\n")
	lines := strings.Split(top, "\n")
	if len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" || !strings.HasPrefix(lines[1], "index ") {
		v.add(1, "no tlog-proof")
		return
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
	if err != nil {
		v.add(1, "%v", err)
		return
	}
	var path2root tlog.RecordProof
	for _, text := range lines[2:] {
		hash, err := tlog.ParseHash(text)
		if err != nil {
			v.add(1, "%v", err)
			return
		}
		path2root = append(path2root, hash)
	}
	h, ok := openHead(v, text, trusted)
	if !ok {
		return
	}
	if err := tlog.CheckRecord(path2root, h.size, h.root, index, tlog.RecordHash([]byte(proof.Line))); err != nil {
		v.add(1, "%v", err)
	}
	var l line
	if err := json.Unmarshal([]byte(proof.Line), &l); err != nil || l.Chain.Seq != index || !strings.HasSuffix(h.origin, "/"+l.Chain.Log) {
		v.add(1, "the line belongs elsewhere")
	}
}

// hashes are the stored hashes of a tree, by their index.
type hashes []tlog.Hash

func (h *hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if index >= int64(len(*h)) {
			return nil, fmt.Errorf("hash %d is not there", index)
		}
		found[i] = (*h)[index]
	}
	return found, nil
}
