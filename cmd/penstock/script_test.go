package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// checkout copies the root pipeline and its example into the script's folder,
// as a fresh checkout has them.
func checkout(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: checkout")
	}
	ts.Check(copyCheckout(ts.Getenv("REPO"), ts.MkAbs(".")))
}

func copyCheckout(repo, to string) error {
	if err := copyFile(filepath.Join(repo, "pipeline.hcl"), filepath.Join(to, "pipeline.hcl")); err != nil {
		return err
	}
	for _, name := range []string{"pipeline.test.hcl", "replay.test.hcl"} {
		if err := copyFile(filepath.Join(repo, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	example := filepath.Join("examples", "trivia-cards")
	return filepath.WalkDir(filepath.Join(repo, example), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(repo, path)
		if err != nil {
			return err
		}
		return copyFile(path, filepath.Join(to, rel))
	})
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

// exits runs a program and asks for its exit status: exits STATUS PROGRAM ARG...
// What it printed is compared as after exec.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exits %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}

// replace changes a text that stands in a file exactly once: replace FILE OLD NEW.
// \n in either is the end of a line.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	args[1], args[2] = strings.ReplaceAll(args[1], `\n`, "\n"), strings.ReplaceAll(args[2], `\n`, "\n")
	text := ts.ReadFile(args[0])
	if n := strings.Count(text, args[1]); n != 1 {
		ts.Fatalf("%s has %q %d times, not once", args[0], args[1], n)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o644))
}

// masks are what differs from run to run, each with the word that stands for it.
var masks = []struct {
	is   *regexp.Regexp
	word string
}{
	{regexp.MustCompile(`\b\d{8}T\d{6}Z-[0-9a-f]{6}\b`), "RUN"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{32}([0-9a-f]{32})?\b`), "DIGEST"},
}

func masked(text string) string {
	for _, m := range masks {
		text = m.is.ReplaceAllString(text, m.word)
	}
	return text
}

// mask replaces run ids, times and digests in a file, or in what was printed
// last, by words, so that the rest can be compared: mask FROM TO.
func mask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mask FROM TO")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(masked(ts.ReadFile(args[0]))), 0o644))
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
