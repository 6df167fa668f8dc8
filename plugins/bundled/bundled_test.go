package bundled

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// The test binary serves a plugin when it is told to, as the penstock binary does.
func TestMain(m *testing.M) {
	if name := os.Getenv("SERVE_BUNDLED"); name != "" {
		if err := Serve(name); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// described is a plugin's configuration as it was told on the wire.
func described(config []*proto.ConfigField) []dag.ConfigField {
	var all []dag.ConfigField
	for _, f := range config {
		all = append(all, dag.ConfigField{Name: f.Name, Type: f.Type, Required: f.Required, Default: f.Default, Doc: f.Doc, Sensitive: f.Sensitive, Content: f.Content, Unkeyed: f.Unkeyed, Block: described(f.Block)})
	}
	return all
}

func TestNames(t *testing.T) {
	if diff := cmp.Diff([]string{"anthropic", "echo", "exec", "gemini", "ollama", "openai", "prompt"}, Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInfo(t *testing.T) {
	kinds := map[string]string{"anthropic": "provider", "echo": "provider", "exec": "stage", "gemini": "provider", "ollama": "provider", "openai": "provider", "prompt": "stage"}
	version := regexp.MustCompile(`^[a-z]+/[1-9][0-9]*$`)
	for _, name := range Names() {
		info, ok := Info(name)
		if !ok || info.Name != name || info.Kind != kinds[name] || info.Version == "" {
			t.Errorf("%s: %+v, %v", name, info, ok)
		}
		if !version.MatchString(info.Behaviour) || !strings.HasPrefix(info.Behaviour, name+"/") {
			t.Errorf("%s: its behaviour is %q, want %q and a number", name, info.Behaviour, name+"/")
		}
		if (info.WireVersion != "") != (info.Kind == "provider") {
			t.Errorf("%s: its wire version is %q", name, info.WireVersion)
		}
		for _, f := range info.Config {
			if f.Doc == "" || (f.Type == "") != (f.Block != nil) || f.Required && f.Default != "" {
				t.Errorf("%s: attribute %s has no type or doc, or is required and has a default", name, f.Name)
			}
		}
		for _, code := range info.Codes {
			if !strings.HasPrefix(string(code), "E_") || code.Class() != dag.Content {
				t.Errorf("%s: %s is no content code of the engine", name, code)
			}
		}
	}
	if info, ok := Info("prompts"); ok || info != nil {
		t.Errorf("a name that is none is known: %+v", info)
	}
	prompt, _ := Info("prompt")
	if got := prompt.CallsPerVisit([]byte(`{"template":"x","reasks":4}`)); got != 5 {
		t.Errorf("a prompt with 4 re-asks calls %d times at most, want 5", got)
	}
}

func TestServeOfAnUnknownName(t *testing.T) {
	err := Serve("promt")
	var e *dag.Error
	if !errors.As(err, &e) || e.Kind != dag.KindConfig || err.Error() != "serve plugin promt: no bundled plugin has this name" || e.Hint != "the bundled plugins are anthropic, echo, exec, gemini, ollama, openai, prompt" {
		t.Errorf("got %v, hint %q", err, e.Hint)
	}
}

// serve starts a bundled plugin in a process of its own and connects to it.
func serve(t *testing.T, name string) *grpc.ClientConn {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	// The socket's path is bounded, and a test's folder may be a long one.
	folder, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	cmd.Env = append(os.Environ(), "SERVE_BUNDLED="+name, proto.CookieKey+"="+proto.CookieValue, "PLUGIN_PROTOCOL_VERSIONS=1", "PLUGIN_UNIX_SOCKET_DIR="+folder, "TMPDIR="+folder)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close() // the host is gone, so the plugin ends
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v", name, err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	fields := strings.Split(strings.TrimSpace(line), "|")
	if err != nil || len(fields) < 5 || fields[2] != "unix" || fields[4] != "grpc" {
		t.Fatalf("%s said %q (%v)", name, line, err)
	}
	conn, err := grpc.NewClient("unix:"+fields[3], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// What the registry says without a start is what the process says of itself.
func TestDescribe(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			conn := serve(t, name)
			want, _ := Info(name)
			got := &dag.PluginInfo{Kind: want.Kind}
			var config []*proto.ConfigField
			if want.Kind == "stage" {
				i, err := proto.NewStageClient(conn).Describe(t.Context(), &proto.DescribeRequest{})
				if err != nil {
					t.Fatal(err)
				}
				got.Name, got.Version, got.Behaviour, got.Outcomes, got.Services = i.Name, i.Version, i.Behaviour, i.Outcomes, i.Services
				got.Deterministic, got.Batches, config = i.Deterministic, i.Batches, i.Config
				for _, c := range i.Codes {
					got.Codes = append(got.Codes, dag.Code(c))
				}
			} else {
				i, err := proto.NewProviderClient(conn).Describe(t.Context(), &proto.DescribeRequest{})
				if err != nil {
					t.Fatal(err)
				}
				got.Name, got.Version, got.Behaviour, got.WireVersion, config = i.Name, i.Version, i.Behaviour, i.WireVersion, i.Config
			}
			got.Config = described(config)
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(dag.PluginInfo{}, "CallsPerVisit", "Asks", "Reads", "Model", "CheckSchema", "Peer"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-registry +process):\n%s", diff)
			}
		})
	}
}

// A visit of the prompt stage and a completion of the echo provider, each in
// its own process, with this test as the host between them.
func TestPromptAsksEcho(t *testing.T) {
	const schema = `{"type":"object","required":["q"],"properties":{"q":{"type":"string","minLength":10}}}`
	stage, provider := proto.NewStageClient(serve(t, "prompt")), proto.NewProviderClient(serve(t, "echo"))
	ctx := t.Context()
	refused, err := stage.Configure(ctx, &proto.ConfigureRequest{Stage: "writer", Config: []byte(`{"template":"{{ .cat"}`)})
	if err != nil || len(refused.Diagnostics) != 1 || refused.Diagnostics[0].Summary != "The template cannot be read" || refused.Diagnostics[0].Path[0] != "template" {
		t.Fatalf("a bad template got %v, %v", refused, err)
	}
	configured, err := stage.Configure(ctx, &proto.ConfigureRequest{Stage: "writer", Config: []byte(`{"template":"A card on {{ .cat }}."}`), OutputSchema: []byte(schema)})
	if err != nil || len(configured.Diagnostics) > 0 {
		t.Fatalf("%v, %v", configured, err)
	}
	model, err := provider.Configure(ctx, &proto.ConfigureProviderRequest{Provider: "p", Model: "m", Config: []byte(`{}`)})
	if err != nil || len(model.Diagnostics) > 0 {
		t.Fatalf("%v, %v", model, err)
	}
	stream, err := stage.Work(ctx)
	if err != nil {
		t.Fatal(err)
	}
	send := func(m *proto.HostMessage) {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	send(&proto.HostMessage{Tasks: []*proto.Task{
		{Visit: 1, Handle: configured.Handle, Key: "a", Pass: 1, Input: []byte(`{"cat":"music"}`)},
		{Visit: 2, Handle: configured.Handle, Key: "b", Pass: 1, Input: []byte(`{"kat":"music"}`)},
	}})
	results := map[uint64]*proto.Result{}
	for len(results) < 2 {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range m.Results {
			results[r.Visit] = r
		}
		for _, c := range m.Complete {
			c.Request.Handle = model.Handle
			reply, err := provider.Complete(ctx, c.Request)
			if err != nil {
				t.Fatal(err)
			}
			send(&proto.HostMessage{Completed: []*proto.Completed{{Visit: c.Visit, Call: c.Call, Reply: reply}}})
		}
	}
	if got := results[1]; got.Failure != nil || !strings.HasPrefix(string(got.Output), `{"q":"`) {
		t.Errorf("the first visit got %v", got)
	}
	want := `the template, line 1, column 14: the document at this place has no member "cat"; did you mean "kat"?`
	if f := results[2].GetFailure(); f.GetCode() != "E_EXPR" || f.GetMessage() != want || f.GetInfrastructure() {
		t.Errorf("the second visit got %v, want E_EXPR: %s", f, want)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
}

// A plugin that is started by hand says what it is.
func TestByHand(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), self)
	cmd.Env = append(os.Environ(), "SERVE_BUNDLED=prompt")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "prompt is a plugin of Penstock") {
		t.Errorf("got %v, %q", err, out)
	}
}

// A stage's configuration is checked as its process would, and nothing starts.
func TestCheckConfig(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.sh"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, config string
		want         []dag.ConfigProblem
	}{
		{"prompt", `{"template":"{{ .q }}"}`, nil},
		{"prompt", `{"template":"{{ broken"}`, []dag.ConfigProblem{
			{Path: []string{"template"}, Summary: "The template cannot be read", Detail: "line 1: unclosed action"}}},
		{"prompt", `[]`, []dag.ConfigProblem{{Summary: "The plugin refuses this configuration"}}},
		{"exec", `{"command":["./run.sh"]}`, nil},
		{"exec", `{"command":["./no.sh"]}`, []dag.ConfigProblem{
			{Path: []string{"command"}, Summary: "The program cannot be run", Detail: "./no.sh: no such file or directory."}}},
		{"openai", `{"base_url":"no address"}`, nil},
	} {
		got := CheckConfig(test.name, dir, []byte(test.config), nil)
		if len(got) == 1 && len(got[0].Path) == 0 {
			got[0].Detail = "" // the words of the JSON package
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.name, test.config, diff)
		}
	}
}
