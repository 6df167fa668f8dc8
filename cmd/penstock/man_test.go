package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestManPages: man/ holds what the commands say now.
func TestManPages(t *testing.T) {
	dir := filepath.Join(root(t), "man")
	pages := manPages((&command{}).root())
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := (&command{err: os.Stderr, out: os.Stdout}).man((&command{}).root(), dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%v: go test ./cmd/penstock -run ManPages -update", err)
			continue
		}
		if diff := cmp.Diff(pages[name], string(got)); diff != "" {
			t.Errorf("man/%s: go test ./cmd/penstock -run ManPages -update (-program +page):\n%s", name, diff)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pages[e.Name()] == "" {
			t.Errorf("man/%s is the page of no verb", e.Name())
		}
	}
}

// TestManPagesAreRoff lets the readers of manual pages that are installed look for
// faults, and reads one as people do.
func TestManPagesAreRoff(t *testing.T) {
	pages := manPages((&command{}).root())
	for name, page := range pages {
		if i := strings.IndexFunc(page, func(r rune) bool { return r > 0x7e || r < 0x20 && r != '\n' }); i >= 0 {
			t.Errorf("%s has a character that is not ASCII: %q", name, page[i:min(i+8, len(page))])
		}
	}
	tools := [][]string{{"groff", "-man", "-ww", "-Tascii", "-z"}, {"mandoc", "-Tlint", "-Wwarning"}}
	ran := false
	for _, tool := range tools {
		path, err := exec.LookPath(tool[0])
		if err != nil {
			continue
		}
		ran = true
		for name, page := range pages {
			cmd := exec.Command(path, tool[1:]...)
			cmd.Stdin = strings.NewReader(page)
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s of %s: %v\n%s", tool[0], name, err, out)
			}
		}
	}
	groff, err := exec.LookPath("groff")
	if !ran || err != nil {
		t.Skip("no groff here to lay the pages out: apt-get install groff")
	}
	cmd := exec.Command(groff, "-man", "-Tascii", "-P-cbou", "-rLL=100n")
	cmd.Stdin = strings.NewReader(pages["penstock-gc.1"])
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{`PENSTOCK-GC\(1\)`, `--max-age TIME`, `-n, --dry-run`, `-C, --directory DIR`, `EXIT STATUS`, `130 +interrupted`, `penstock\(1\)`, `penstock gc \[flags\]`} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("the page of gc does not show %q:\n%s", want, out)
		}
	}
}
