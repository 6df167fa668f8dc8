package host_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/plugins/proto"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// The test binary is its own plugins: started as "plugin serve NAME" it is a
// bundled one, as "vice NAME" one of a user's with that vice, as "host" a host
// that somebody will kill.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "plugin" && os.Args[2] == "serve":
		serveBundled(os.Args[3])
	case len(os.Args) >= 3 && os.Args[1] == "vice":
		serveVice(os.Args[2], os.Args[3:])
	case len(os.Args) == 3 && os.Args[1] == "host":
		beHost(os.Args[2])
	default:
		os.Exit(runTests(m))
	}
}

// runTests runs the tests in a temporary folder of its own and then looks for
// what they have left behind.
func runTests(m *testing.M) int {
	temp, err := os.MkdirTemp("/tmp", "ht")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(temp)
	os.Setenv("TMPDIR", temp)
	if status := m.Run(); status != 0 {
		return status
	}
	if left := remains(temp); left != "" {
		fmt.Println("FAIL: the tests have left behind", left)
		return 1
	}
	return 0
}

func serveBundled(name string) {
	switch name {
	case "echo":
		sdk.Serve(sdk.Stage{Info: sdk.Info{Name: "echo"}, Run: echo})
	case "chat":
		serveChat()
	case "process":
		vices["process"](nil)
	}
}

func echo(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
	if string(v.Input) == `"pid"` {
		return sdk.Result{Output: os.Getpid()}, nil
	}
	return sdk.Result{Outcome: "ok", Output: v.Input}, nil
}

// stage serves one function.
func stage(run sdk.Func) {
	sdk.Serve(sdk.Stage{Info: sdk.Info{Name: "vice", Version: "1.2.3", Behaviour: "vice/1",
		Outcomes: []string{"ok"}, Codes: []string{"R_BAD"}, Services: []string{"complete"},
		Config: []sdk.Field{{Name: "depth", Type: "number", Required: true}}}, Run: run})
}

var vices = map[string]func(args []string){
	"echo": func([]string) { stage(echo) },
	"poison": func([]string) {
		for _, line := range []string{`{"@message":5,"@level":{},"@timestamp":[]}`, `{"level":7,"message":null}`, `{`, `{"@level":"warn","@message":"odd but fine","n":1}`, "\xff\xfe", strings.Repeat("x", 300<<10)} {
			fmt.Fprintln(os.Stderr, line)
		}
		stage(echo)
	},
	"grandchild": func(args []string) { // keeps stderr open, in the group or out of it
		cmd := exec.Command("sleep", "300")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: args[0] == "away"}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		stage(func(context.Context, *sdk.Visit) (sdk.Result, error) {
			return sdk.Result{Output: cmd.Process.Pid}, nil
		})
	},
	"process": func([]string) {
		stage(func(context.Context, *sdk.Visit) (sdk.Result, error) {
			dir, _ := os.Getwd()
			return sdk.Result{Output: map[string]any{"env": os.Environ(), "dir": dir, "pid": os.Getpid()}}, nil
		})
	},
	"noise": func([]string) {
		fmt.Println("loading model...")
		fmt.Println(strings.Repeat("long", 100<<10))
		fmt.Println("1|x|not quite|a handshake")
		stage(echo)
	},
	"chatter": func([]string) { // writes to the real stdout after its handshake
		fd, _ := syscall.Dup(1)
		stage(func(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
			fmt.Println("a print of the author's")
			_, err := syscall.Write(fd, []byte(strings.Repeat("long", 256<<10)+"\n"))
			return sdk.Result{Output: v.Input}, err
		})
	},
	"silent": func([]string) {
		fmt.Fprintln(os.Stderr, "warming up")
		time.Sleep(time.Hour)
	},
	"unended": func([]string) {
		fmt.Print("1|1|unix|/somewhere/s|grpc")
		time.Sleep(time.Hour)
	},
	"says": func(args []string) {
		fmt.Println(args[0])
		time.Sleep(time.Hour)
	},
	"fails": func([]string) {
		fmt.Fprintln(os.Stderr, "no module named frobnicate")
		os.Exit(3)
	},
	"dies": func([]string) {
		stage(func(ctx context.Context, v *sdk.Visit) (sdk.Result, error) {
			switch string(v.Input) {
			case `"exit"`:
				fmt.Fprintln(os.Stderr, "cannot go on")
				os.Exit(7)
			case `"panic"`:
				panic("the author's mistake")
			case `"wait"`:
				<-ctx.Done()
				return sdk.Result{}, ctx.Err()
			}
			return sdk.Result{Output: os.Getpid()}, nil
		})
	},
	"deaf": func([]string) { // ignores every wish to stop
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		r, w, _ := os.Pipe()
		defer w.Close()
		os.Stdin = r
		stage(func(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
			return sdk.Result{Output: os.Getpid()}, nil
		})
		time.Sleep(time.Hour)
	},
	"stuck": func([]string) { // ignores cancellation
		stage(func(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
			if string(v.Input) == `"stuck"` {
				time.Sleep(time.Hour)
			}
			return sdk.Result{Output: v.Input}, nil
		})
	},
	"patient": func([]string) { // waits until it is cancelled, and says so
		stage(func(ctx context.Context, v *sdk.Visit) (sdk.Result, error) {
			switch string(v.Input) {
			case `"quick"`:
				return sdk.Result{Output: v.Input}, nil
			case `"pid"`:
				return sdk.Result{Output: os.Getpid()}, nil
			}
			v.Logf("waits")
			<-ctx.Done()
			_, late := ctx.Deadline()
			v.Logf("ends: %v, with a deadline: %v", ctx.Err(), late)
			return sdk.Result{}, ctx.Err()
		})
	},
	"gather": func([]string) { // answers 200 visits at once, the last one first
		var mu sync.Mutex
		var all []chan struct{}
		stage(func(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
			turn := make(chan struct{})
			mu.Lock()
			all = append(all, turn)
			if len(all) == 200 {
				close(all[199])
			}
			mine := len(all) - 1
			mu.Unlock()
			<-turn
			if mine > 0 {
				mu.Lock()
				close(all[mine-1])
				mu.Unlock()
			}
			return sdk.Result{Output: v.Input}, nil
		})
	},
	"huge": func(args []string) {
		stage(func(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
			return sdk.Result{Output: []byte(`"` + strings.Repeat("x", 65<<20) + `"`)}, nil
		})
	},
	"fussy": func([]string) {
		sdk.Serve(sdk.Stage{Info: sdk.Info{Name: "fussy"}, Configure: func(_ context.Context, c sdk.Config) (sdk.Func, error) {
			var config struct {
				Depth int `json:"depth"`
			}
			if err := c.Into(&config); err != nil {
				return nil, err
			}
			if config.Depth > 3 {
				return nil, sdk.Diagnostics{{Summary: "Too deep", Detail: "depth is 3 at most", Path: []string{"depth"}}}
			}
			return func(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
				return sdk.Result{Output: map[string]any{"depth": config.Depth, "stage": c.Stage, "schema": string(v.Schema), "dir": c.Directory}}, nil
			}, nil
		}})
	},
	"words": func([]string) { // ends as its input says
		stage(func(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
			switch string(v.Input) {
			case `"fail"`:
				return sdk.Result{Notes: []string{"tried"}}, sdk.Fail("R_BAD", "it is %s", "bad")
			case `"undeclared"`:
				return sdk.Result{}, sdk.Fail("R_OTHER", "never declared")
			case `"infra"`:
				return sdk.Result{}, sdk.Infra("E_RATE_LIMITED", "slow down").After(1500 * time.Millisecond)
			case `"plain"`:
				return sdk.Result{}, fmt.Errorf("something broke")
			case `"bytes"`:
				return sdk.Result{Outcome: "\xff"}, nil
			}
			figure := 0.5
			return sdk.Result{Outcome: "ok", Output: map[string]int{"n": 1}, Notes: []string{"a", "b\xff"},
				Findings: []sdk.Finding{{Word: "thin", Triage: "review", Figure: &figure, Evidence: "short"}}}, nil
		})
	},
	"asks": func([]string) {
		stage(func(ctx context.Context, v *sdk.Visit) (sdk.Result, error) {
			reply, err := v.Complete(ctx, &sdk.CompletionRequest{System: v.Key})
			if err != nil {
				return sdk.Result{}, err
			}
			return sdk.Result{Output: reply.Text}, nil
		})
	},
	"hostile":  func(args []string) { stage(hostile) },
	"provider": func([]string) { serveChat() },
	"garbage": func([]string) {
		serveRaw(func(s grpc.ServerStream, _ *proto.Task) error {
			return s.SendMsg(&proto.Failure{Code: "zzzz"}) // reads as half a Result
		})
	},
	"stranger": func([]string) { // results that nobody asked for, and one twice
		serveRaw(func(s grpc.ServerStream, t *proto.Task) error {
			r := &proto.Result{Visit: t.Visit, Output: t.Input}
			return s.SendMsg(&proto.PluginMessage{Results: []*proto.Result{{Visit: 99999, Output: []byte("1")}, r, r}})
		})
	},
	"empty": func([]string) {
		serveRaw(func(s grpc.ServerStream, t *proto.Task) error {
			r := &proto.Result{Visit: t.Visit}
			if string(t.Input) == `"nameless"` {
				r.Failure = &proto.Failure{Message: "no code"}
			}
			return s.SendMsg(&proto.PluginMessage{Results: []*proto.Result{r}})
		})
	},
	"oversize": func([]string) {
		serveRaw(func(s grpc.ServerStream, t *proto.Task) error {
			return s.SendMsg(&proto.PluginMessage{Results: []*proto.Result{{Visit: t.Visit, Output: make([]byte, 65<<20)}}})
		})
	},
	"bare": func([]string) { // a stream's echo and nothing else
		serveRaw(func(s grpc.ServerStream, t *proto.Task) error {
			return s.SendMsg(&proto.PluginMessage{Results: []*proto.Result{{Visit: t.Visit, Outcome: "ok", Output: t.Input}}})
		})
	},
	"quits": func([]string) { // ends its stream, and lives on
		serveRaw(func(s grpc.ServerStream, t *proto.Task) error { return fmt.Errorf("enough") })
	},
}

func serveVice(name string, args []string) {
	run := vices[name]
	if run == nil {
		fmt.Fprintf(os.Stderr, "no vice %q\n", name)
		os.Exit(2)
	}
	run(args)
}

// rawStage is a stage that is not the SDK's: it answers each task as it likes.
type rawStage struct {
	plugin.NetRPCUnsupportedPlugin
	proto.UnimplementedStageServer
	answer func(grpc.ServerStream, *proto.Task) error
}

func (r *rawStage) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	proto.RegisterStageServer(s, r)
	return nil
}

func (r *rawStage) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func (r *rawStage) Configure(context.Context, *proto.ConfigureRequest) (*proto.ConfigureReply, error) {
	return &proto.ConfigureReply{Handle: 1}, nil
}

func (r *rawStage) Work(stream grpc.BidiStreamingServer[proto.HostMessage, proto.PluginMessage]) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, t := range m.Tasks {
			if err := r.answer(stream, t); err != nil {
				return err
			}
		}
	}
}

func serveRaw(answer func(grpc.ServerStream, *proto.Task) error) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: proto.CookieKey, MagicCookieValue: proto.CookieValue},
		VersionedPlugins: map[int]plugin.PluginSet{1: {"plugin": &rawStage{answer: answer}}},
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(o, grpc.MaxSendMsgSize(1<<30))...)
		},
		Logger: hclog.NewNullLogger(),
	})
}

func serveChat() {
	sdk.ServeProvider(sdk.Provider{
		Info: sdk.ProviderInfo{Name: "chat", WireVersion: "1", Config: []sdk.Field{{Name: "api_key", Type: "string", Sensitive: true}}},
		Model: func(name string, _ []byte) sdk.Model {
			return sdk.Model{Known: name == "plain", Takes: []string{"top_p"}}
		},
		Configure: func(_ context.Context, c sdk.ProviderConfig) (sdk.Completer, error) {
			var config struct {
				Key  string `json:"api_key"`
				Base string `json:"base"`
			}
			if err := c.Into(&config); err != nil {
				return nil, err
			}
			if config.Key == "a bad key" {
				return nil, sdk.Diagnostics{{Summary: "Bad key", Detail: config.Key + " is not accepted.", Path: []string{"api_key"}}}
			}
			if config.Key == "" {
				return nil, sdk.Diagnostics{{Summary: "No key", Path: []string{"api_key"}}}
			}
			return func(ctx context.Context, r *sdk.CompletionRequest) (*sdk.CompletionReply, error) {
				switch r.System {
				case "limit":
					return nil, sdk.RateLimited(2*time.Second, "not so fast")
				case "broken":
					return nil, fmt.Errorf("connection refused")
				case "die":
					os.Exit(9)
				case "tell":
					fmt.Fprintln(os.Stderr, "my key is "+config.Key)
					os.Exit(9)
				case "dial":
					conn, err := net.Dial("tcp", config.Base)
					if err != nil {
						return nil, err
					}
					_ = conn.Close()
				}
				return &sdk.CompletionReply{Text: c.Model + " knows " + config.Key, Model: "m-1"}, nil
			}, nil
		},
	})
}

// hostile tries what a plugin must not do, and reports what came of it.
func hostile(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
	var plan struct {
		File, Address, Socket string
		Pid                   int
	}
	if err := v.Into(&plan); err != nil {
		return sdk.Result{}, err
	}
	said := map[string]string{}
	try := func(what string, err error) {
		said[what] = "done"
		if err != nil {
			said[what] = err.Error()
		}
	}
	try("write", os.WriteFile(plan.File, []byte("x"), 0o600))
	try("truncate", os.Truncate(plan.File, 0))
	try("remove", os.Remove(plan.File))
	try("mkdir", os.Mkdir(plan.File+".d", 0o700))
	try("link", os.Symlink("/", plan.File+".l"))
	_, err := net.DialTimeout("tcp", plan.Address, 5*time.Second)
	try("connect", err)
	_, err = net.Dial("unix", plan.Socket)
	try("unix", err)
	_, err = net.Listen("tcp", "127.0.0.1:0")
	try("listen", err)
	try("inherited", openOf(plan.File))
	many := net.Dialer{Timeout: 5 * time.Second}
	many.SetMultipathTCP(true)
	_, err = many.Dial("tcp", plan.Address)
	try("multipath", err)
	_, err = net.Dial("udp", "127.0.0.1:9")
	try("udp", err)
	try("child writes", exec.Command("sh", "-c", "echo x > "+plan.File).Run())
	try("signal", syscall.Kill(plan.Pid, 0))
	_, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", plan.Pid))
	try("environment", err)
	_, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", plan.Pid), os.O_RDWR, 0)
	try("memory", err)
	try("scratch", os.WriteFile(os.TempDir()+"/mine", []byte("x"), 0o600))
	try("null", exec.Command("sh", "-c", "echo x > /dev/null").Run())
	_, err = os.ReadFile("/etc/hostname")
	try("read", err)
	_, err = os.ReadFile(plan.File)
	try("read outside", err)
	out, err := json.Marshal(said, json.Deterministic(true))
	return sdk.Result{Output: out}, err
}

// openOf tells whether a file is among those that this process has open.
func openOf(file string) error {
	entries, err := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && target == file {
			return nil
		}
	}
	return errors.Join(err, syscall.ENOENT)
}

// beHost runs one visit, says which process answered it, and waits to be killed.
func beHost(dir string) {
	self, _ := os.Executable()
	done := make(chan host.Result, 1)
	h := host.New(host.Options{Dir: dir, Self: []string{self, "plugin", "serve"}, Deliver: func(r []host.Result) { done <- r[0] }})
	h.Submit(host.Task{Visit: 1, Stage: viceStage(self, "dies"), Key: "k", Input: []byte(`"pid"`)})
	r := <-done
	fmt.Printf("%s %v\n", r.Output, r.Err)
	time.Sleep(time.Hour)
}
