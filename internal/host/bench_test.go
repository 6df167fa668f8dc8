package host_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/plugins/proto"
)

// The two benchmarks below belong together: what a visit costs through host and
// SDK, and what the machine asks for a windowed stream of the same documents with
// nothing around it. Both report the CPU time of both processes.
//
//	go test ./internal/host -run '^$' -bench . -benchtime 200000x

var document = []byte(`{"id":1234567,"text":"` + strings.Repeat("all work and no play ", 96) + `"}`)

func BenchmarkVisit(b *testing.B) {
	stage := &dag.Stage{Name: "s", Plugin: &dag.Plugin{Name: "echo", Source: "builtin/echo"}}
	pid := &dag.Stage{Name: "pid", Plugin: stage.Plugin}
	results := make(chan []host.Result, 1024)
	h := host.New(host.Options{Dir: b.TempDir(), Self: []string{self(b), "plugin", "serve"},
		Deliver: func(r []host.Result) { results <- r }})
	defer h.Close(context.Background())
	task := func(n int) host.Task {
		return host.Task{Visit: uint64(n), Stage: stage, Key: "item", Input: document, Timeout: time.Minute}
	}
	first := task(1 << 40)
	first.Stage, first.Input = pid, []byte(`"pid"`)
	h.Submit(first)
	plugin, err := strconv.Atoi(string((<-results)[0].Output))
	if err != nil {
		b.Fatal(err)
	}
	meter := startMeter(b, plugin)
	sent := 0
	for ; sent < min(b.N, proto.Window); sent++ {
		h.Submit(task(sent))
	}
	for done := 0; done < b.N; {
		for _, r := range <-results {
			if r.Err != nil || len(r.Output) != len(document) {
				b.Fatal(r.Err)
			}
			if done++; sent < b.N {
				h.Submit(task(sent))
				sent++
			}
		}
	}
	meter.report()
}

func BenchmarkBareStream(b *testing.B) {
	cmd := exec.Command(self(b), "vice", "bare")
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  plugin.HandshakeConfig{MagicCookieKey: proto.CookieKey, MagicCookieValue: proto.CookieValue},
		VersionedPlugins: map[int]plugin.PluginSet{1: {"plugin": &bareConn{}}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Cmd: cmd, Logger: hclog.NewNullLogger(),
	})
	defer client.Kill()
	protocol, err := client.Client()
	if err != nil {
		b.Fatal(err)
	}
	raw, err := protocol.Dispense("plugin")
	if err != nil {
		b.Fatal(err)
	}
	stream, err := proto.NewStageClient(raw.(*grpc.ClientConn)).Work(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	window := make(chan struct{}, proto.Window)
	meter := startMeter(b, cmd.Process.Pid)
	var sender sync.WaitGroup
	sender.Go(func() {
		for n := range b.N {
			window <- struct{}{}
			m := &proto.HostMessage{Tasks: []*proto.Task{{Visit: uint64(n), Handle: 1, Key: "item", Input: document}}}
			if err := stream.Send(m); err != nil {
				b.Error(err)
				return
			}
		}
	})
	for range b.N {
		if _, err := stream.Recv(); err != nil {
			b.Fatal(err)
		}
		<-window
	}
	sender.Wait()
	meter.report()
}

type bareConn struct{ plugin.NetRPCUnsupportedPlugin }

func (bareConn) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return nil }
func (bareConn) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}

// meter reads the CPU time of this process and of a plugin.
type meter struct {
	b            *testing.B
	plugin       int
	host0, them0 time.Duration
}

func startMeter(b *testing.B, plugin int) *meter {
	m := &meter{b: b, plugin: plugin, host0: ownTime(), them0: timeOf(b, plugin)}
	b.ResetTimer()
	return m
}

func (m *meter) report() {
	m.b.StopTimer()
	own, them := ownTime()-m.host0, timeOf(m.b, m.plugin)-m.them0
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(m.b.N) }
	m.b.ReportMetric(each(own), "host-µs/visit")
	m.b.ReportMetric(each(them), "plugin-µs/visit")
	m.b.ReportMetric(each(own+them), "cpu-µs/visit")
}

func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// timeOf reads the ticks of 10 ms that Linux counts.
func timeOf(b *testing.B, pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip("this system does not tell the time of another process")
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		b.Fatalf("%s", stat)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}
