package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
)

// A plugin that ignores every wish to stop is ended after the grace.
func TestDeafPluginIsEnded(t *testing.T) {
	r := newRig(t, func(o *host.Options) { o.Grace = 50 * time.Millisecond })
	pid := r.pid(vice(t, "deaf"))
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !dead(pid) {
		t.Error("it lives")
	}
}

// With its context ended, Close waits for no grace.
func TestCloseAtOnce(t *testing.T) {
	r := newRig(t, func(o *host.Options) { o.Grace = time.Hour })
	pid := r.pid(vice(t, "deaf"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Close(ctx); err != nil {
		t.Error(err)
	}
	if !dead(pid) {
		t.Error("it lives")
	}
}

// Grandchildren that keep stderr open delay nothing; those in the group end too.
func TestGrandchildren(t *testing.T) {
	for _, where := range []string{"near", "away"} {
		t.Run(where, func(t *testing.T) {
			r := newRig(t, func(o *host.Options) { o.Grace = 30 * time.Second })
			child := r.pid(vice(t, "grandchild", where))
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if where == "away" { // out of the group: nobody's to end but ours
				if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
				return
			}
			eventually(t, "the grandchild's end", func() bool { return dead(child) })
		})
	}
}

func TestCloseEndsEveryTask(t *testing.T) {
	r := newRig(t, nil)
	stage, starting := vice(t, "patient"), vice(t, "silent")
	running := r.submit(stage, "1", 0)
	r.untilLogged("waits")
	queued := r.submit(starting, "1", 0)
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	after := r.submit(stage, "1", 0)
	for _, visit := range []uint64{running, queued, after} {
		got := r.result(visit)
		if got.Err == nil || got.Err.Kind != dag.KindInterrupted || !strings.Contains(got.Err.Error(), "the plugin host is closed") || got.Crashed {
			t.Errorf("visit %d: %+v", visit, got)
		}
	}
	if _, err := r.Describe(t.Context(), stage.Plugin); err == nil || err.Error() != "start plugin patient: the plugin host is closed" {
		t.Error(err)
	}
}

// Nothing is left on the disk after a Close; a killed host's folder goes with
// the next host's start, and its plugin goes at once.
func TestHostIsKilled(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(self(t), "host", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := strconv.Atoi(strings.Fields(line)[0])
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if dead(plugin) {
		t.Fatal("the plugin does not run")
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "penstock-*"))
	if len(left) != 1 {
		t.Fatalf("the host's folders are %v", left)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) {
		t.Fatal(err)
	}
	eventually(t, "the plugin's end", func() bool { return dead(plugin) })

	r := newRig(t, nil)
	r.output(bundledStage("echo"), "1")
	if _, err := os.Stat(left[0]); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", left[0], err)
	}
}

// Two hosts at once do not sweep each other's folders.
func TestTwoHosts(t *testing.T) {
	a, b := newRig(t, nil), newRig(t, nil)
	for i := range 3 {
		stage := vice(t, "echo", fmt.Sprint(i))
		a.output(stage, "1")
		b.output(stage, "1")
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	b.output(vice(t, "echo", "3"), "1")
}
