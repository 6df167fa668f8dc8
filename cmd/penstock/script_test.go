package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// checkout copies the root pipeline and its example into the script's folder,
// as a fresh checkout has them.
func checkout(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: checkout")
	}
	repo := ts.Getenv("REPO")
	ts.Check(copyFile(filepath.Join(repo, "pipeline.hcl"), ts.MkAbs("pipeline.hcl")))
	example := filepath.Join("examples", "trivia-cards")
	ts.Check(filepath.WalkDir(filepath.Join(repo, example), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(repo, path)
		if err != nil {
			return err
		}
		return copyFile(path, ts.MkAbs(rel))
	}))
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// snapshot writes the digests of all files below a folder to a file, so that a
// script can compare two moments: snapshot DIR FILE.
func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: snapshot DIR FILE")
	}
	dir := ts.MkAbs(args[0])
	var lines []string
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() {
			lines = append(lines, rel+"/")
			return err
		}
		content, err := os.ReadFile(path)
		sum := sha256.Sum256(content)
		lines = append(lines, fmt.Sprintf("%s %s", rel, hex.EncodeToString(sum[:])))
		return err
	}))
	sort.Strings(lines)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(lines, "\n")+"\n"), 0o644))
}
