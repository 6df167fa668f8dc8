package host_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
)

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func digest(t *testing.T, r *rig, p *dag.Plugin) dag.Digest {
	t.Helper()
	d, err := r.Digest(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDigestOfABundledPlugin(t *testing.T) {
	info := map[string]*dag.PluginInfo{"one": {Behaviour: "one/1"}, "two": {Behaviour: "one/1"}}
	r := newRig(t, func(o *host.Options) {
		o.Bundled = func(name string) (*dag.PluginInfo, bool) { i, ok := info[name]; return i, ok }
	})
	one, two := bundledStage("one").Plugin, bundledStage("two").Plugin
	before := digest(t, r, one)
	if before == digest(t, r, two) {
		t.Error("the name does not count")
	}
	if got, want := before.String(), fmt.Sprintf("%x", sha256.Sum256([]byte("penstock bundled plugin\none\none/1\n"))); got != want {
		t.Errorf("%s, want %s: whoever has stored actions has them by this", got, want)
	}
	info["one"] = &dag.PluginInfo{Behaviour: "one/1", WireVersion: "2"}
	if before == digest(t, r, one) {
		t.Error("the wire version does not count")
	}
	info["one"] = &dag.PluginInfo{Behaviour: "one/2"}
	if before == digest(t, r, one) {
		t.Error("the behaviour does not count")
	}
	if _, err := r.Digest(bundledStage("three").Plugin); err == nil || err.Error() != `find plugin three: no plugin "builtin/three" is bundled with this version` {
		t.Error(err)
	}
}

func TestDigestOfAFile(t *testing.T) {
	r := newRig(t, nil)
	write(t, filepath.Join(r.dir, "p"), "content", 0o755)
	p := &dag.Plugin{Name: "p", Source: "./p"}
	if got, want := digest(t, r, p), dag.Sum([]byte("content")); got != want {
		t.Errorf("%s, want the file's own %s", got, want)
	}
	if got := digest(t, r, &dag.Plugin{Name: "p", Command: []string{"./p"}}); got != dag.Sum([]byte("content")) {
		t.Errorf("a command of one word is its file: %s", got)
	}
}

// What belongs to a plugin counts, and nothing else does.
func TestDigestOfFiles(t *testing.T) {
	r := newRig(t, nil)
	write(t, filepath.Join(r.dir, "run"), "#!/bin/sh", 0o755)
	write(t, filepath.Join(r.dir, "script.py"), "1", 0o644)
	write(t, filepath.Join(r.dir, "lib", "a.py"), "2", 0o644)
	write(t, filepath.Join(r.dir, "lib", "deep", "b.py"), "3", 0o644)
	write(t, filepath.Join(r.dir, "other"), "4", 0o644)
	plugin := func(args ...string) *dag.Plugin {
		return &dag.Plugin{Name: "p", Command: append([]string{"./run"}, args...), Files: []string{"li*"}}
	}
	base := digest(t, r, plugin("script.py"))
	if base != digest(t, r, plugin("script.py")) {
		t.Error("twice is not the same")
	}
	for _, test := range []struct {
		what   string
		change func()
		args   []string
		same   bool
	}{
		{"another argument", func() {}, []string{"script.py", "-v"}, false},
		{"a file that does not belong", func() { write(t, filepath.Join(r.dir, "other"), "5", 0o644) }, []string{"script.py"}, true},
		{"a file that an argument names", func() { write(t, filepath.Join(r.dir, "script.py"), "10", 0o644) }, []string{"script.py"}, false},
		{"a file in a folder that is listed", func() { write(t, filepath.Join(r.dir, "lib", "deep", "b.py"), "30", 0o644) }, []string{"script.py"}, false},
		{"a new file there", func() { write(t, filepath.Join(r.dir, "lib", "c.py"), "", 0o644) }, []string{"script.py"}, false},
		{"the executable", func() { write(t, filepath.Join(r.dir, "run"), "#!/bin/bash", 0o755) }, []string{"script.py"}, false},
	} {
		test.change()
		now := digest(t, r, plugin(test.args...))
		if (now == base) != test.same {
			t.Errorf("%s: same %v, want %v", test.what, now == base, test.same)
		}
		base = digest(t, r, plugin("script.py"))
	}
	bad := plugin()
	bad.Files = []string{"none*"}
	want := `find files of plugin p: files "none*" matches nothing in ` + r.dir
	if _, err := r.Digest(bad); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

type memo struct {
	mu   sync.Mutex
	all  map[string]dag.Digest
	puts int
}

func (m *memo) Get(key string) (dag.Digest, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.all[key]
	return d, ok
}

func (m *memo) Put(key string, d dag.Digest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[key] = d
	m.puts++
}

// A file is hashed once as long as it stays as it is, also by another host; one
// that was written a moment ago is not remembered, since the clock of the file
// system may not tell its next writing from the last.
func TestDigestsAreRemembered(t *testing.T) {
	m := &memo{all: map[string]dag.Digest{}}
	options := func(o *host.Options) { o.Memo = m }
	r := newRig(t, options)
	p := &dag.Plugin{Name: "p", Source: self(t)}
	want := digest(t, r, p)
	if m.puts == 0 {
		// The test binary is young: its change time is all that keeps it out.
		info, err := os.Stat(self(t))
		if err != nil || time.Since(info.ModTime()) > time.Minute {
			t.Fatalf("not remembered: %v", err)
		}
	}
	fresh := filepath.Join(r.dir, "fresh")
	write(t, fresh, "x", 0o755)
	before := m.puts
	digest(t, r, &dag.Plugin{Name: "f", Source: "./fresh"})
	if m.puts != before {
		t.Error("a file of this moment was remembered")
	}
	for key := range m.all { // another host believes the memo
		m.all[key] = dag.Sum([]byte("from the memo"))
		if got := digest(t, newRig(t, options), p); got != dag.Sum([]byte("from the memo")) || got == want {
			t.Errorf("%s", got)
		}
	}
}

// The file that runs is the file whose digest the run's actions bear.
func TestChangedExecutableIsRefused(t *testing.T) {
	r := newRig(t, nil)
	path := filepath.Join(r.dir, "p")
	script := fmt.Sprintf("#!/bin/sh\nexec %q vice echo\n", self(t))
	write(t, path, script, 0o755)
	stage := &dag.Stage{Name: "s", Plugin: &dag.Plugin{Name: "p", Source: "./p"}}
	digest(t, r, stage.Plugin)
	write(t, path, script+"# harmless\n", 0o755)
	got := r.run(stage, "1")
	want := fmt.Sprintf("start plugin p: %s has changed while the run went on: its digest was %s and is %s",
		path, dag.Sum([]byte(script)).Short(), dag.Sum([]byte(script+"# harmless\n")).Short())
	var failure *dag.Error
	if !errors.As(got.Err, &failure) || failure.Error() != want || failure.Kind != dag.KindDiffers {
		t.Errorf("got  %v\nwant %s", got.Err, want)
	}
}

// So it is with the files that belong to its command: an interpreter reads them
// when it starts, which may be long after they were hashed.
func TestR26ChangedFileOfACommandIsRefused(t *testing.T) {
	r := newRig(t, nil)
	script := fmt.Sprintf("exec %q vice echo\n", self(t))
	write(t, filepath.Join(r.dir, "p.sh"), script, 0o644)
	stage := &dag.Stage{Name: "s", Plugin: &dag.Plugin{Name: "p", Command: []string{"sh", "p.sh"}}}
	before := digest(t, r, stage.Plugin)
	write(t, filepath.Join(r.dir, "p.sh"), script+"# harmless\n", 0o644)
	got := r.run(stage, "1")
	var failure *dag.Error
	if !errors.As(got.Err, &failure) || failure.Kind != dag.KindDiffers ||
		!strings.HasPrefix(failure.Error(), "start plugin p: one of the files of sh p.sh has changed while the run went on: its digest was "+before.Short()) {
		t.Errorf("got %v", got.Err)
	}
}
