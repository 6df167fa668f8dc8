package lang

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
)

// TestLockGolden loads a pipeline beside every lock of testdata/locks, and compares
// all that is said of it.
func TestLockGolden(t *testing.T) {
	locks, err := filepath.Glob("testdata/locks/*.lock.hcl")
	if err != nil || len(locks) == 0 {
		t.Fatalf("no locks: %v", err)
	}
	for _, path := range locks {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".lock.hcl"), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			opts := besideBase(t, string(src))
			graph, files, diags := Load(opts)
			if (graph == nil) != diags.HasErrors() {
				t.Errorf("graph %v, errors %v", graph != nil, diags.HasErrors())
			}
			got, want := render(t, files, diags), strings.TrimSuffix(path, ".lock.hcl")+".want"
			if *update {
				if err := os.WriteFile(want, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			text, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(text), got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// besideBase are the options to load the base with a lock beside it.
func besideBase(t *testing.T, lock string) Options {
	t.Helper()
	s := readSetting(t, "")
	fsys := fstest.MapFS{"pipeline.hcl": {}, "penstock.lock.hcl": {Data: []byte(lock)}}
	for _, dir := range []string{"testdata/files", "testdata/base"} {
		addTree(t, fsys, dir, func(name string) string { return name })
	}
	s.opts.FS = fsys
	return s.opts
}

// TestLockOfAFile: each pipeline file has a lock of its own.
func TestLockOfAFile(t *testing.T) {
	for file, want := range map[string]string{"": "penstock.lock.hcl", "pipeline.hcl": "penstock.lock.hcl", "other.hcl": "other.lock.hcl", "a.pipeline.hcl": "a.pipeline.lock.hcl"} {
		if got := LockFile(file); got != want {
			t.Errorf("LockFile(%q) is %q, want %q", file, got, want)
		}
	}
}

// TestVanishedCodesMayBeRetired: a code that was asked to be retired is missing in
// peace.
func TestVanishedCodesMayBeRetired(t *testing.T) {
	opts := besideBase(t, "failure \"ZEBRA\" {}\n")
	if _, _, diags := Load(opts); !diags.HasErrors() {
		t.Error("a code vanished, and nobody minds")
	}
	opts.Retire = []dag.Code{"ZEBRA"}
	if _, files, diags := Load(opts); diags.HasErrors() {
		t.Error(render(t, files, diags))
	}
}

// TestALockedPluginIsNotAsked: what a locked plugin is, the lock knows; unless it
// is another plugin by now, or is to be locked anew.
func TestALockedPluginIsNotAsked(t *testing.T) {
	const pipeline = `
plugin "shout" { source = "./shout" }
provider "extra" {
  plugin = plugin.shout
  model  = "m"
}
stage "loud" {
  plugin   = plugin.shout
}
`
	for _, tt := range []struct {
		name, source string
		relock       bool
		asked        bool
	}{
		{"locked", "./shout", false, false},
		{"locked as something else", "./other", false, true},
		{"locked anew", "./shout", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := besideBase(t, `plugin "shout" { locked = { source = "`+tt.source+`", name = "shout", kind = "stage" } }`)
			opts.FS.(fstest.MapFS)["shout.pipeline.hcl"] = &fstest.MapFile{Data: []byte(pipeline)}
			asked := false
			opts.Relock = tt.relock
			opts.Describe = func(p *dag.Plugin) (*dag.PluginInfo, error) {
				if p.Source != "./shout" {
					return describe(p)
				}
				asked = true
				return &dag.PluginInfo{Name: "shout", Kind: "stage"}, nil
			}
			Load(opts)
			if asked != tt.asked {
				t.Errorf("asked: %v, want %v", asked, tt.asked)
			}
		})
	}
}

// genLock makes locks of anything that the noun can hold.
func genLock() *rapid.Generator[*dag.Lock] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"${x}", "%{if}", "a\nb", "\"", "\\", "é", "\u0001"}))
	field := rapid.Custom(func(t *rapid.T) dag.ConfigField {
		return dag.ConfigField{
			Name: rapid.StringMatching(`[a-z_]{1,9}`).Draw(t, "field"), Type: rapid.SampledFrom([]string{"string", "number", "list(string)"}).Draw(t, "type"),
			Doc: text.Draw(t, "doc"), Required: rapid.Bool().Draw(t, "required"),
		}
	})
	name := func(f dag.ConfigField) string { return f.Name }
	return rapid.Custom(func(t *rapid.T) *dag.Lock {
		lock := &dag.Lock{File: "penstock.lock.hcl"}
		for _, code := range rapid.SliceOfDistinct(rapid.StringMatching(`[A-Z][A-Z0-9_]{0,6}`), rapid.ID[string]).Draw(t, "codes") {
			lock.Codes = append(lock.Codes, dag.LockedCode{Code: dag.Code(code), Retired: rapid.Bool().Draw(t, "retired")})
		}
		for _, label := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,6}`), 0, 4, rapid.ID[string]).Draw(t, "plugins") {
			k := dag.LockedPlugin{Name: label, Source: "./" + label, Info: &dag.PluginInfo{
				Name: "n", Kind: "stage", Version: text.Draw(t, "version"), Deterministic: rapid.Bool().Draw(t, "deterministic"),
				Outcomes: rapid.SliceOfN(text, 1, 3).Draw(t, "outcomes"),
				Config:   rapid.SliceOfNDistinct(field, 1, 3, name).Draw(t, "config"),
			}}
			k.Info.Config = append(k.Info.Config, dag.ConfigField{Name: "Deep", Block: rapid.SliceOfNDistinct(field, 0, 2, name).Draw(t, "block")})
			for _, p := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"any", "linux_amd64", "darwin_arm64"}), rapid.ID[string]).Draw(t, "platforms") {
				k.Pins = append(k.Pins, dag.Pin{Platform: p, Scheme: rapid.SampledFrom([]string{"sha256", "files1"}).Draw(t, "scheme"), Digest: rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, "digest")})
			}
			lock.Plugins = append(lock.Plugins, k)
		}
		sortLock(lock)
		return lock
	})
}

// TestLockRoundTrip: any lock is read as it was written, from lines in any order;
// its bytes are those that the formatter makes, each entry on one line, sorted.
func TestLockRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lock := genLock().Draw(t, "lock")
		text := formatted(t, lock)
		if again := string(hclwrite.Format([]byte(text))); again != text {
			t.Fatalf("the formatter would change it:\n%s\n%s", text, again)
		}
		_, body, _ := strings.Cut(text, "\n\n")
		lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
		if !slices.IsSorted(lines) {
			t.Fatalf("the lines are not sorted:\n%s", text)
		}
		entries := len(lock.Codes) + len(lock.Plugins)
		for _, k := range lock.Plugins {
			entries += len(k.Pins)
		}
		if n := len(lines); n != max(1, entries) {
			t.Fatalf("%d entries on %d lines:\n%s", entries, n, text)
		}
		shuffled := strings.Join(rapid.Permutation(lines).Draw(t, "order"), "\n") + "\n"
		read, diags := ReadLock(lock.File, []byte(shuffled))
		if len(diags) > 0 {
			t.Fatalf("%v in\n%s", diags, shuffled)
		}
		if got := formatted(t, read); got != text {
			t.Fatalf("written again it is another:\n%s\n%s", text, got)
		}
	})
}

func formatted(t rapid.TB, lock *dag.Lock) string {
	t.Helper()
	text, err := FormatLock(lock)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWhatANewerVersionWroteIsKept: byte for byte, whatever this version knows of it.
func TestWhatANewerVersionWroteIsKept(t *testing.T) {
	const newer = lockHead + `digest "shout" "linux_amd64" { blake9 = "zz" }
edition = 2
failure "OLD" {
  retired = true
  since   = "2.0"
}
model "judge" { snapshot = "x-2" }
plugin "shout" { locked = { source = "./shout", name = "shout", kind = "stage", signed_by = { who = "someone" } } }
`
	lock, diags := ReadLock("penstock.lock.hcl", []byte(newer))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if len(diags) != 5 {
		t.Errorf("%d warnings: %v", len(diags), diags)
	}
	lock, changes := lock.Update(&dag.Graph{
		Plugins: []*dag.Plugin{{Name: "shout", Source: "./shout"}},
		Codes:   []*dag.FailureCode{{Code: "OLD", Retired: true}},
	}, []dag.AcceptedPlugin{{Plugin: &dag.Plugin{Name: "shout", Source: "./shout"}, Info: &dag.PluginInfo{Name: "shout", Kind: "stage"},
		Pin: dag.Pin{Platform: "linux_amd64", Scheme: dag.PinFile, Digest: strings.Repeat("a", 64)}}}, nil)
	if len(changes) != 1 || !strings.Contains(changes[0].Why, `a digest of the scheme blake9, which this version of Penstock does not know`) {
		t.Errorf("changes are %v", changes)
	}
	want := strings.Replace(newer, "edition", `digest "shout" "linux_amd64" { sha256 = "`+strings.Repeat("a", 64)+"\" }\nedition", 1)
	if d := cmp.Diff(want, formatted(t, lock)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// FuzzReadLock: whatever stands in the file, it is read or complained of, and what
// is read can be written and read again.
func FuzzReadLock(f *testing.F) {
	locks, err := filepath.Glob("testdata/locks/*.lock.hcl")
	if err != nil || len(locks) == 0 {
		f.Fatalf("no locks: %v", err)
	}
	for _, path := range locks {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		lock, diags := ReadLock("f.lock.hcl", src)
		if (lock == nil) != diags.HasErrors() {
			t.Fatalf("a lock %v, errors %v", lock != nil, diags.HasErrors())
		}
		if lock == nil {
			return
		}
		text, err := FormatLock(lock)
		if err != nil {
			t.Fatal(err)
		}
		again, diags := ReadLock("f.lock.hcl", text)
		if diags.HasErrors() {
			t.Fatalf("what was written cannot be read: %v\n%s", diags, text)
		}
		if twice, err := FormatLock(again); err != nil || string(twice) != string(text) {
			t.Fatalf("written twice it differs (%v):\n%s\n%s", err, text, twice)
		}
	})
}
