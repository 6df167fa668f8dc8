package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// penstock runs a command in a folder, as a user does.
func penstock(t *testing.T, dir string, args ...string) (said string, exit int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), commandPath(t, "penstock"), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func commandPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// readers are the ways to call each verb that only looks; writers the verbs that
// may change something, each with what.
var (
	readers = map[string][][]string{
		"audit":      {{"audit"}},
		"breaker":    {{"breaker"}},
		"check":      {{"check", "--help"}},
		"codes":      {{"codes"}},
		"completion": {{"completion", "bash"}},
		"diff":       {{"diff", "pipeline.hcl", "other.hcl"}},
		"explain":    {{"explain", "E_OUTPUT"}, {"explain", "R_NO"}},
		"fmt":        {{"fmt", "--check"}, {"fmt", "--diff"}},
		"functions":  {{"functions"}},
		"gc":         {{"gc", "--dry-run"}, {"gc", "--dry-run", "--max-size", "1KiB", "--max-age", "1s", "--keep-runs", "0"}},
		"graph":      {{"graph"}, {"graph", "--json"}},
		"logs":       {{"logs", "make"}, {"logs", "make[a]"}},
		"plan":       {{"plan"}, {"plan", "--items"}, {"plan", "--routes"}, {"plan", "a"}, {"plan", "--json"}},
		"plugin":     {{"plugin", "list"}},
		"run":        {{"run", "-n"}},
		"show":       {{"show", "a"}},
		"status":     {{"status"}},
		"validate":   {{"validate"}, {"validate", "--json"}},
		"version":    {{"version"}},
		"why":        {{"why", "a"}, {"why", "make[a]"}, {"why", "--not-run", "copy[a]"}},
	}
	writingVerbs = map[string]string{
		"breaker": "closes one", "fmt": "writes the files", "gc": "collects", "init": "makes a pipeline",
		"plan": "writes the file that -o names", "plugin": "lock writes the lock", "report": "writes a page",
		"run": "runs", "test": "--update writes what is expected",
	}
)

// Every verb is one that only looks, or it is said what it changes: a new one
// fails here until it has its place.
func TestR02EveryVerbHasItsPlace(t *testing.T) {
	for _, verb := range (&command{}).root().Commands() {
		if verb.Hidden || verb.Name() == "help" {
			continue
		}
		if readers[verb.Name()] == nil && writingVerbs[verb.Name()] == "" {
			t.Errorf("%s stands neither with the readers nor with the writers", verb.Name())
		}
	}
}

// Who only looks changes no file, in a folder where nothing was done yet, in one
// with a finished run, and in one whose store is torn, damaged, and in part gone;
// nor does it leave anything in the folder of temporary files.
func TestR01WhoLooksWritesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	dir := t.TempDir()
	if err := writeSmall(dir); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(filepath.Join(dir, "pipeline.hcl"), filepath.Join(dir, "other.hcl")); err != nil {
		t.Fatal(err)
	}
	look := func(when string) {
		t.Helper()
		before, beside := filesOf(t, dir), filesOf(t, temp)
		for _, verb := range slices.Sorted(maps.Keys(readers)) {
			for _, args := range readers[verb] {
				said, exit := penstock(t, dir, args...)
				if exit == 70 {
					t.Errorf("%s: %v ends with 70:\n%s", when, args, said)
				}
				if diff := cmp.Diff(before, filesOf(t, dir)); diff != "" {
					t.Fatalf("%s: %v changed files (-before +after):\n%s", when, args, diff)
				}
			}
		}
		if diff := cmp.Diff(beside, filesOf(t, temp)); diff != "" {
			t.Errorf("%s: temporary files are left (-before +after):\n%s", when, diff)
		}
	}
	if !testing.Short() {
		look("before the first run")
	}
	if said, exit := penstock(t, dir, "run"); exit != 0 {
		t.Fatal(said)
	}
	look("after a run")
	if testing.Short() {
		return
	}
	damageStore(t, filepath.Join(dir, "staging"))
	look("with a damaged store")
}

// damageStore tears the logs' ends, takes an index away, and changes a document.
func damageStore(t *testing.T, staging string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(staging, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	for _, name := range logs {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, info.Size()-3); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(staging, "artifacts", "000001.idx")); err != nil {
		t.Fatal(err)
	}
	segment := filepath.Join(staging, "artifacts", "000001.jsonl")
	b, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(segment, bytes.Replace(b, []byte(`"n":1`), []byte(`"n":9`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
}

// filesOf is every file below a folder: its content's digest, its mode and its time.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if info.Name() == ".state.lock" {
			return nil // the note of who holds the lock: an audit waits for commits
		}
		what := info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += " " + dag.Sum(b).String() + info.ModTime().Format(" 15:04:05.000000000")
		}
		all[strings.TrimPrefix(path, dir)] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// However a run is made to end, no process that it started outlives it, not even
// what a command of it left in the background.
func TestR64NoProcessOutlivesARun(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("processes are found through /proc")
	}
	for _, test := range []struct {
		name    string
		signals []syscall.Signal
		exit    int
	}{
		{"SIGKILL", []syscall.Signal{syscall.SIGKILL}, -1},
		{"SIGTERM twice", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 130},
		{"SIGINT twice", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 130},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := writeSmall(dir); err != nil {
				t.Fatal(err)
			}
			mark := "/" + filepath.Base(filepath.Dir(dir)) + filepath.Base(dir) // an argument that no other process has
			script := "sh -c 'sleep 600; echo " + mark + "' " + mark + " &\nwait\n"
			if err := os.WriteFile(filepath.Join(dir, "make.sh"), []byte(script), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), commandPath(t, "penstock"), "run", "-j", "2")
			cmd.Dir = dir
			said := &told{}
			cmd.Stderr = said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "both commands", func() bool { return len(marked(mark)) >= 2 })
			for i, s := range test.signals {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				if i+1 < len(test.signals) {
					waitFor(t, "the first press to be heard", func() bool { return strings.Contains(said.String(), "once more to stop at once") })
				}
			}
			_ = cmd.Wait() // its exit status is asked for below
			if got := cmd.ProcessState.ExitCode(); got != test.exit {
				t.Errorf("the run ends with %d, not %d:\n%s", got, test.exit, said)
			}
			waitFor(t, "the end of what the commands started", func() bool { return len(marked(mark)) == 0 })
		})
	}
}

// marked are the processes that have a mark in their command line.
func marked(mark string) (pids []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err == nil && bytes.HasSuffix(bytes.TrimRight(line, "\x00"), []byte(mark)) {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

// waitFor polls what no channel tells: processes that are no children of this one.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// told is written by a process and read meanwhile.
type told struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *told) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *told) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}
