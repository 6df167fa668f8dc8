package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/lang"
)

const lockName = "penstock.lock.hcl"

// lockGraph is a pipeline as far as a lock looks at it: one script, and codes.
func lockGraph(codes ...dag.Code) *dag.Graph {
	g := &dag.Graph{Plugins: []*dag.Plugin{{Name: "shout", Source: "./shout"}, {Name: "echo", Source: "builtin/echo"}}}
	for _, c := range codes {
		g.Codes = append(g.Codes, &dag.FailureCode{Code: c})
	}
	return g
}

func lockOptions(dir string, g *dag.Graph) LockOptions {
	return LockOptions{Dir: dir, File: lockName, Graph: g, Describe: func(*dag.Plugin) (*dag.PluginInfo, error) {
		return &dag.PluginInfo{Name: "shout", Kind: "stage", Version: "1"}, nil
	}}
}

// lockDir is a pipeline's folder with the program of the plugin.
func lockDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shout"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func readLockFile(t *testing.T, dir string) (*dag.Lock, []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	lock, diags := lang.ReadLock(lockName, text)
	if diags.HasErrors() {
		t.Fatalf("%v in\n%s", diags, text)
	}
	return lock, text
}

// TestLocksAtOnce: each of many that write the lock at once, from pipelines that
// know more and more codes, is refused or loses nothing.
func TestLocksAtOnce(t *testing.T) {
	dir := lockDir(t)
	var codes []dag.Code
	var graphs []*dag.Graph
	for i := range 12 {
		codes = append(codes, dag.Code(fmt.Sprintf("C_%02d", i)))
		graphs = append(graphs, lockGraph(codes...))
	}
	var all sync.WaitGroup
	wrote := make([]bool, len(graphs))
	for i, g := range graphs {
		all.Go(func() {
			_, err := WriteLock(lockOptions(dir, g))
			wrote[i] = err == nil
			if err != nil && !errors.Is(err, &dag.Error{Op: "write lock", Kind: dag.KindConfig}) {
				t.Errorf("%d codes: %v", i+1, err)
			}
		})
	}
	all.Wait()
	lock, _ := readLockFile(t, dir)
	for i, ok := range wrote {
		if ok && lock.Code(codes[i]) == nil {
			t.Errorf("what was written with %d codes is lost: the lock has %d", i+1, len(lock.Codes))
		}
	}
	if !wrote[len(wrote)-1] {
		t.Error("the one that knows every code was refused")
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	if err != nil || left != nil {
		t.Errorf("%v is left (%v)", left, err)
	}
}

// TestLockKilled: a process that is killed between the last byte of the new file and
// its name leaves the old lock as it was; the next one is not in its way.
func TestLockKilled(t *testing.T) {
	if dir := os.Getenv("PENSTOCK_TEST_LOCK"); dir != "" {
		o := lockOptions(dir, lockGraph("OLD", "NEW"))
		o.written = func() {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		_, err := WriteLock(o)
		t.Fatalf("it lives: %v", err)
	}
	dir := lockDir(t)
	if _, err := WriteLock(lockOptions(dir, lockGraph("OLD"))); err != nil {
		t.Fatal(err)
	}
	_, before := readLockFile(t, dir)
	child := exec.Command(os.Args[0], "-test.run=^TestLockKilled$")
	child.Env = append(os.Environ(), "PENSTOCK_TEST_LOCK="+dir)
	said, err := child.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child was not killed: %v\n%s", err, said)
	}
	if _, after := readLockFile(t, dir); !bytes.Equal(before, after) {
		t.Errorf("the lock is another:\n%s", after)
	}
	if _, err := os.Stat(filepath.Join(dir, lockName+".tmp")); err != nil {
		t.Errorf("the child left nothing, so it was killed too early: %v", err)
	}
	report, err := WriteLock(lockOptions(dir, lockGraph("OLD", "NEW")))
	if err != nil {
		t.Fatal(err)
	}
	want := &LockReport{File: lockName, Written: true, Changes: []dag.LockChange{{What: dag.LockAdd, Code: "NEW", Why: "failure code NEW is not locked", Did: "added failure code NEW"}}}
	if d := cmp.Diff(want, report); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if _, err := os.Stat(filepath.Join(dir, lockName+".tmp")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what the child left is still there: %v", err)
	}
}

// TestLockIsOfOnePlugin: a plugin that changes while it says what it is is not locked.
func TestLockIsOfOnePlugin(t *testing.T) {
	dir := lockDir(t)
	o := lockOptions(dir, lockGraph())
	describe := o.Describe
	o.Describe = func(p *dag.Plugin) (*dag.PluginInfo, error) {
		if err := os.WriteFile(filepath.Join(dir, "shout"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return describe(p)
	}
	_, err := WriteLock(o)
	if err == nil || err.Error() != "lock plugin shout: ./shout changed meanwhile" || dag.KindOf(err) != dag.KindDiffers {
		t.Errorf("it says %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, lockName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a lock was written: %v", err)
	}
}

// TestLockedByAnotherMeanwhile: codes that another process locked after the pipeline
// was read do not vanish by this one's hand.
func TestLockedByAnotherMeanwhile(t *testing.T) {
	dir := lockDir(t)
	if _, err := WriteLock(lockOptions(dir, lockGraph("A", "B"))); err != nil {
		t.Fatal(err)
	}
	_, before := readLockFile(t, dir)
	_, err := WriteLock(lockOptions(dir, lockGraph("A")))
	if err == nil || !strings.Contains(err.Error(), "the pipeline does not declare B, which the lock knows by now") {
		t.Errorf("it says %v", err)
	}
	if _, after := readLockFile(t, dir); !bytes.Equal(before, after) {
		t.Errorf("the lock is another:\n%s", after)
	}
}
