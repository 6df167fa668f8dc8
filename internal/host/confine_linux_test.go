package host_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/internal/host"
)

func landlock() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

func seccomp() bool {
	_, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	return err == nil
}

// A hostile plugin finds every door shut, and its own room open.
func TestConfinement(t *testing.T) {
	const denied, notPermitted, done = "permission denied", "operation not permitted", "done"
	for _, tt := range []struct{ asks, offline bool }{{false, false}, {true, false}, {true, true}} {
		network := tt.asks && !tt.offline
		t.Run(fmt.Sprintf("network %v offline %v", tt.asks, tt.offline), func(t *testing.T) {
			server, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			r := newRig(t, func(o *host.Options) { o.Offline = tt.offline })
			file := filepath.Join(r.dir, "data")
			if err := os.WriteFile(file, []byte("kept"), 0o666); err != nil {
				t.Fatal(err)
			}
			stage := vice(t, "hostile")
			stage.Plugin.Network = tt.asks
			inherited, err := unix.Open(file, unix.O_WRONLY, 0) // without O_CLOEXEC, as a shell's redirection
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(inherited)
			socket := filepath.Join(t.TempDir(), "s")
			daemon, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer daemon.Close()
			plan, _ := json.Marshal(map[string]any{"File": file, "Address": server.Addr().String(), "Socket": socket, "Pid": os.Getpid()})
			var got map[string]string
			if err := json.Unmarshal([]byte(r.output(stage, string(plan))), &got); err != nil {
				t.Fatal(err)
			}
			abi, filters := landlock(), seccomp()
			if gap := host.ConfinementGap(abi, filters); gap != "" {
				r.untilLogged("warn " + gap)
			}
			if abi == 0 {
				return
			}
			want := map[string]string{
				"write": denied, "truncate": denied, "remove": denied, "mkdir": denied, "link": denied, "child writes": "exit status",
				"inherited": "no such file", "connect": done, "unix": done, "listen": done, "multipath": done, "udp": done, "signal": done, "environment": denied, "memory": denied,
				"scratch": done, "null": done, "read": done, "read outside": done,
			}
			if filters && !network {
				want["connect"], want["listen"], want["multipath"], want["udp"], want["unix"] = denied, denied, denied, denied, denied
			}
			if abi < 3 {
				delete(want, "truncate")
			}
			if abi >= 6 {
				want["signal"] = notPermitted
			}
			for what, end := range want {
				if !strings.Contains(got[what], end) {
					t.Errorf("%s: %q, want %q", what, got[what], end)
				}
			}
			if content, err := os.ReadFile(file); err != nil || string(content) != "kept" {
				t.Errorf("the file holds %q, %v", content, err)
			}
			entries, _ := os.ReadDir(r.dir)
			if len(entries) != 1 {
				t.Errorf("the pipeline's directory holds %v", entries)
			}
		})
	}
}

// A bundled plugin is confined too, and runs in its scratch folder.
func TestBundledIsConfined(t *testing.T) {
	r := newRig(t, nil)
	p := processOf(t, r.run(bundledStage("process"), "1"))
	if !strings.HasPrefix(p.Dir, filepath.Join(os.TempDir(), "penstock-")) {
		t.Errorf("it runs in %s", p.Dir)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(status), "NoNewPrivs:\t1") {
		t.Error("it may gain privileges")
	}
}

// A provider may use the network without being told so, and write nothing.
func TestProviderMayConnect(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	r := newRig(t, nil)
	caller, err := r.Provider(t.Context(), chatProvider("chat", `{"base":"`+server.Addr().String()+`"}`, map[string]string{"api_key": "k"}))
	if err != nil {
		t.Fatal(err)
	}
	if reply := ask(t, caller, "dial"); reply.Error != nil {
		t.Error(reply.Error)
	}
}

func TestConfinementGap(t *testing.T) {
	want := []string{
		"this kernel has neither Landlock nor seccomp, so plugins are not confined: they may write where you may, and they may use the network",
		"this kernel has no Landlock, so plugins are confined from the network only: they may write where you may",
		"this kernel has no seccomp, and its Landlock no rules for TCP, so plugins are confined to their folder only: they may use the network",
		"", "", "",
	}
	got := []string{
		host.ConfinementGap(0, false), host.ConfinementGap(0, true), host.ConfinementGap(3, false),
		host.ConfinementGap(3, true), host.ConfinementGap(4, false), host.ConfinementGap(7, true),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
