package sdk_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/penstock-run/penstock/plugins/proto"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// The test binary is its own plugins: "plugin NAME" serves one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "plugin" {
		plugins[os.Args[2]]()
		return
	}
	os.Exit(m.Run())
}

var plugins = map[string]func(){
	"example": Example,
	"quiet":   func() { sdk.Serve(sdk.Stage{Info: sdk.Info{Name: "quiet"}}) },
	"blocks": func() { // 256 visits wait for each other
		var all sync.WaitGroup
		all.Add(proto.Window)
		sdk.Serve(sdk.Stage{Info: sdk.Info{Name: "blocks"}, Run: func(context.Context, *sdk.Visit) (sdk.Result, error) {
			all.Done()
			all.Wait()
			return sdk.Result{}, nil
		}})
	},
	"prints": func() {
		sdk.Serve(sdk.Stage{Info: sdk.Info{Name: "prints"}, Run: func(context.Context, *sdk.Visit) (sdk.Result, error) {
			fmt.Println("to stdout")
			fmt.Fprintln(os.Stderr, "to stderr")
			log.Print("by log")
			slog.Warn("by slog", "n", 3)
			os.Exit(3) // at once: what was printed has left already
			return sdk.Result{}, nil
		}})
	},
}

// start runs a plugin under go-plugin's own client, as a host in another
// language would.
func start(t *testing.T, name string) (*grpc.ClientConn, *plugin.Client, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "plugin", name)
	var stderr bytes.Buffer
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  plugin.HandshakeConfig{MagicCookieKey: proto.CookieKey, MagicCookieValue: proto.CookieValue},
		VersionedPlugins: map[int]plugin.PluginSet{proto.Version: {"plugin": conn{}}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Cmd:              cmd, Stderr: &stderr, Logger: hclog.NewNullLogger(),
	})
	t.Cleanup(client.Kill)
	protocol, err := client.Client()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := protocol.Dispense("plugin")
	if err != nil {
		t.Fatal(err)
	}
	return raw.(*grpc.ClientConn), client, &stderr
}

type conn struct{ plugin.NetRPCUnsupportedPlugin }

func (conn) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return nil }
func (conn) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}

func configure(t *testing.T, c *grpc.ClientConn) uint32 {
	t.Helper()
	reply, err := proto.NewStageClient(c).Configure(t.Context(), &proto.ConfigureRequest{Stage: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.Diagnostics) > 0 {
		t.Fatal(reply.Diagnostics)
	}
	return reply.Handle
}

// visits sends tasks in one message and gathers as many results.
func visits(t *testing.T, c *grpc.ClientConn, tasks ...*proto.Task) map[uint64]*proto.Result {
	t.Helper()
	stream, err := proto.NewStageClient(c).Work(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&proto.HostMessage{Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	got := map[uint64]*proto.Result{}
	for len(got) < len(tasks) {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Results) > proto.MaxBatch {
			t.Errorf("%d results in a message", len(m.Results))
		}
		for _, r := range m.Results {
			got[r.Visit] = r
		}
	}
	return got
}

func TestExample(t *testing.T) {
	c, _, _ := start(t, "example")
	handle := configure(t, c)
	got := visits(t, c,
		&proto.Task{Visit: 1, Handle: handle, Key: "a", Input: []byte(`{"Text":"short"}`)},
		&proto.Task{Visit: 2, Handle: handle, Key: "b", Input: []byte(`{"Text":""}`)},
		&proto.Task{Visit: 3, Handle: handle, Key: "c", Input: []byte(`[]`)},
		&proto.Task{Visit: 4, Handle: handle + 1, Key: "d"})
	want := map[uint64]*proto.Result{
		1: {Visit: 1, Output: []byte(`{"Text":"short","long":false}`)},
		2: {Visit: 2, Failure: &proto.Failure{Code: "R_EMPTY", Message: "there is no text"}},
		4: {Visit: 4, Failure: &proto.Failure{Code: "E_PLUGIN", Infrastructure: true, Message: "the host sent a task for handle 2, which was never configured"}},
	}
	misfit := got[3].GetFailure()
	if !misfit.GetInfrastructure() || !strings.HasPrefix(misfit.GetMessage(), "the input of c: ") {
		t.Errorf("%v", misfit)
	}
	delete(got, 3)
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// A window of visits that all block runs at once, on however few processors.
func TestVisitsThatBlock(t *testing.T) {
	c, _, _ := start(t, "blocks")
	handle := configure(t, c)
	tasks := make([]*proto.Task, proto.Window)
	for i := range tasks {
		tasks[i] = &proto.Task{Visit: uint64(i + 1), Handle: handle, Input: []byte("1")}
	}
	for id, r := range visits(t, c, tasks...) {
		if r.Failure != nil || string(r.Output) != "null" {
			t.Fatalf("visit %d: %v", id, r)
		}
	}
}

// Whatever a plugin prints is on stderr, at once, and its loggers write the
// members that the protocol names.
func TestPrints(t *testing.T) {
	c, client, stderr := start(t, "prints")
	handle := configure(t, c)
	stream, err := proto.NewStageClient(c).Work(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&proto.HostMessage{Tasks: []*proto.Task{{Visit: 1, Handle: handle}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err == nil {
		t.Fatal("it answers")
	}
	client.Kill() // waits for the end of stderr
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(stderr.String()), "\n") {
		if at := strings.Index(line, `"time":`); at >= 0 { // the only member that differs
			end := strings.Index(line[at:], ",")
			line = line[:at] + line[at+end+1:]
		}
		lines = append(lines, line)
	}
	want := []string{"to stdout", "to stderr", `{"level":"info","message":"by log"}`, `{"level":"warn","message":"by slog","n":3}`}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// When the host is gone, stdin ends, and so does the plugin.
func TestEndsWithItsHost(t *testing.T) {
	cmd := exec.Command(os.Args[0], "plugin", "example")
	cmd.Env = []string{proto.CookieKey + "=" + proto.CookieValue, "PLUGIN_PROTOCOL_VERSIONS=1", "TMPDIR=" + t.TempDir()}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	var line [256]byte
	if n, err := out.Read(line[:]); err != nil {
		t.Fatalf("%q, %v", line[:n], err)
	}
	_ = stdin.Close()
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("it ended by %s", cmd.ProcessState)
	}
}

// Started by hand, a plugin says what it is.
func TestWithoutAHost(t *testing.T) {
	out, err := exec.Command(os.Args[0], "plugin", "example").CombinedOutput()
	want := "length is a plugin of Penstock and runs under it: name it in a plugin block of pipeline.hcl\n"
	if err == nil || err.Error() != "exit status 1" || !strings.HasSuffix(string(out), want) {
		t.Errorf("%s, %v", out, err)
	}
}

func TestNeitherConfigureNorRun(t *testing.T) {
	c, _, _ := start(t, "quiet")
	reply, err := proto.NewStageClient(c).Configure(t.Context(), &proto.ConfigureRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := []*proto.Diagnostic{{Summary: "The plugin refuses this configuration", Detail: "the plugin has neither Configure nor Run"}}
	if diff := cmp.Diff(want, reply.Diagnostics, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}
