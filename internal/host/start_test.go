package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
)

func TestFailedStarts(t *testing.T) {
	for _, test := range []struct {
		name  string
		args  []string
		parts []string
	}{
		{"never answers", []string{"silent"}, []string{"start plugin silent: ",
			"it did not write its handshake to stdout within 2s (is the line flushed?); its last lines were:\n  warming up"}},
		{"no line end", []string{"unended"}, []string{
			`it wrote its handshake without a line end ("1|1|unix|/somewhere/s|grpc") and then nothing for 2s`}},
		{"ends at once", []string{"fails"}, []string{
			"it ended before its handshake (exit status 3); its last lines were:\n  no module named frobnicate"}},
		{"no such vice", []string{"virtue"}, []string{`(exit status 2)`, `no vice "virtue"`}},
		{"newer protocol", []string{"says", "1|2|unix|/x|grpc"}, []string{
			"it speaks version 2 of the plugin protocol, this host speaks 1: build it against that version, or take a newer Penstock"}},
		{"other handshake", []string{"says", "2|1|unix|/x|grpc"}, []string{"it speaks version 2 of go-plugin's handshake, this host speaks 1"}},
		{"net/rpc", []string{"says", "1|1|unix|/x"}, []string{"it speaks netrpc, this host speaks grpc"}},
		{"tcp", []string{"says", "1|1|tcp|127.0.0.1:1|grpc"}, []string{
			"it listens on tcp 127.0.0.1:1: serve on a unix socket in the folder that PLUGIN_UNIX_SOCKET_DIR names"}},
		{"elsewhere", []string{"says", "1|1|unix|/tmp/elsewhere|grpc"}, []string{"it listens at /tmp/elsewhere: make the socket in the folder"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, func(o *host.Options) {
				if strings.Contains(test.parts[len(test.parts)-1], "2s") {
					o.StartTimeout = 2 * time.Second
				}
			})
			stage := vice(t, test.args...)
			a, b := r.submit(stage, "1", 0), r.submit(stage, "2", 0)
			errorHas(t, r.result(a), dag.EUnavailable, test.parts...)
			if first, second := r.result(a).Err, r.result(b).Err; first != second {
				t.Errorf("two errors for one start: %v and %v", first, second)
			}
		})
	}
}

func TestMissingPlugins(t *testing.T) {
	r := newRig(t, nil)
	if err := os.WriteFile(filepath.Join(r.dir, "plain"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		plugin dag.Plugin
		want   string
		hint   string
	}{
		{dag.Plugin{Name: "a", Source: "./gone"}, "find plugin a: there is no file " + r.dir + "/gone", "build it first, or correct the path"},
		{dag.Plugin{Name: "b", Source: "./plain"}, "find plugin b: " + r.dir + "/plain is not executable", "chmod +x " + r.dir + "/plain"},
		{dag.Plugin{Name: "c", Source: "."}, "find plugin c: " + r.dir + " is not a file", "name the executable itself"},
		{dag.Plugin{Name: "d", Command: []string{"no-such-program"}}, `find plugin d: exec: "no-such-program": executable file not found in $PATH`,
			"write a path with a slash for a program that is not in PATH"},
		{dag.Plugin{Name: "e"}, "find plugin e: it has neither a source nor a command", ""},
	} {
		got := r.run(&dag.Stage{Name: "s", Plugin: &test.plugin}, "1")
		if got.Err == nil || got.Err.Error() != test.want || got.Err.Hint != test.hint || got.Err.Kind != dag.KindConfig {
			t.Errorf("got %+v\nwant %s (%s)", got.Err, test.want, test.hint)
		}
		if _, err := r.Digest(&test.plugin); err == nil || err.Error() != test.want {
			t.Errorf("Digest: %v, want %s", err, test.want)
		}
	}
}

// A plugin that prints before its handshake is forgiven, and told.
func TestNoiseBeforeTheHandshake(t *testing.T) {
	r := newRig(t, nil)
	r.output(vice(t, "noise"), "1")
	r.untilLogged("noise warn printed to stdout, which belongs to the handshake: loading model...")
	r.untilLogged("noise warn printed to stdout, which belongs to the handshake: 1|x|not quite|a handshake")
}

// A line of a megabyte on stdout blocks nobody.
func TestLongLineOnStdout(t *testing.T) {
	r := newRig(t, nil)
	stage := vice(t, "chatter")
	for range 3 {
		r.output(stage, "1")
	}
	r.untilLogged("chatter warn printed to stdout, which belongs to the handshake: longlong")
	r.untilLogged("chatter info a print of the author's")
}

// No line on stderr brings the host down.
func TestPoisonOnStderr(t *testing.T) {
	r := newRig(t, nil)
	r.output(vice(t, "poison"), "1")
	r.untilLogged(`poison info {"@message":5,"@level":{},"@timestamp":[]}`)
	r.untilLogged(`poison warn odd but fine {"n":1}`)
	r.untilLogged("xxxxxxxx")
}

// A temporary folder whose path is too long for a socket is not used.
func TestLongTemporaryFolder(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	r := newRig(t, nil)
	p := processOf(t, r.run(vice(t, "process"), "1"))
	for _, variable := range p.Env {
		if value, ok := strings.CutPrefix(variable, "TMPDIR="); ok && !strings.HasPrefix(value, "/tmp/penstock-") {
			t.Errorf("TMPDIR=%s", value)
		}
	}
}

func TestScript(t *testing.T) {
	r := newRig(t, nil)
	script := fmt.Sprintf("#!/bin/sh\nexec %q vice echo\n", self(t))
	if err := os.WriteFile(filepath.Join(r.dir, "plugin.sh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := r.output(&dag.Stage{Name: "s", Plugin: &dag.Plugin{Name: "p", Source: "./plugin.sh"}}, "17"); got != "17" {
		t.Error(got)
	}
}

// What was wrong may be put right: the next task starts the plugin anew.
func TestStartAfterAFailedStart(t *testing.T) {
	r := newRig(t, nil)
	plugin := &dag.Plugin{Name: "p", Source: "./plugin.sh"}
	stage := &dag.Stage{Name: "s", Plugin: plugin}
	path := filepath.Join(r.dir, "plugin.sh")
	errorHas(t, r.run(stage, "1"), "", "there is no file")
	if err := os.WriteFile(path, []byte(fmt.Sprintf("#!/bin/sh\nexec %q vice echo\n", self(t))), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := r.output(stage, "2"); got != "2" {
		t.Error(got)
	}
}
