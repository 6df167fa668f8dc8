package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// TestChecksAloneAreShown: each kind that this version runs holds in a script, and
// fails in one.
func TestChecksAloneAreShown(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/check*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	for _, info := range dag.CheckKinds() {
		if !info.Supported {
			continue
		}
		for what, form := range map[string]string{
			"hold": `(?m)^exec penstock check ` + string(info.Kind) + ` --with \S+\nstdout '\^holds`,
			"fail": `(?m)^exits 5 penstock check ` + string(info.Kind) + ` --with \S+\n(stdout '\^fails|cmp stdout)`,
		} {
			if !regexp.MustCompile(form).Match(all) {
				t.Errorf("no script lets `penstock check %s` %s", info.Kind, what)
			}
		}
	}
}

// TestEveryArgumentHasAForm: `penstock check` can say of each argument what is to be
// written.
func TestEveryArgumentHasAForm(t *testing.T) {
	for _, info := range dag.CheckKinds() {
		for _, m := range members(info) {
			if memberForms[m.kind] == "" {
				t.Errorf("%s.%s is of the type %q, and nothing says how that is written", info.Kind, m.name, m.kind)
			}
		}
	}
}
