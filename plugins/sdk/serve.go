package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/penstock-run/penstock/plugins/proto"
)

// Serve serves a stage plugin. It is all that main has to do, and it returns
// when the host is done with the process.
func Serve(stage Stage) {
	if stage.Configure == nil {
		run := stage.Run
		stage.Configure = func(context.Context, Config) (Func, error) {
			if run == nil {
				return nil, errors.New("the plugin has neither Configure nor Run")
			}
			return run, nil
		}
	}
	serve(stage.Info.Name, stage.End, func(started func(), s *grpc.Server) {
		proto.RegisterStageServer(s, &stageServer{stage: stage, started: started})
	})
}

// stageServer answers for a Stage.
type stageServer struct {
	proto.UnimplementedStageServer
	stage   Stage
	started func()

	mu     sync.Mutex
	stages []*configured // by handle, from 1
}

func (s *stageServer) Describe(context.Context, *proto.DescribeRequest) (*proto.StageInfo, error) {
	s.started()
	return s.stage.Info.proto(), nil
}

func (s *stageServer) Configure(ctx context.Context, r *proto.ConfigureRequest) (*proto.ConfigureReply, error) {
	s.started()
	run, err := s.stage.Configure(ctx, Config{
		Stage: r.Stage, JSON: r.Config, OutputSchema: r.OutputSchema,
		Scratch: r.Scratch, Directory: r.Directory, RunID: r.RunId,
	})
	if err == nil && run == nil {
		err = errors.New("the plugin's Configure gave no function")
	}
	if run == nil {
		return configureReply(0, err), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stages = append(s.stages, &configured{run: run, schema: r.OutputSchema})
	return configureReply(uint32(len(s.stages)), err), nil // a warning comes with a function
}

func (s *stageServer) Work(stream grpc.BidiStreamingServer[proto.HostMessage, proto.PluginMessage]) error {
	s.started()
	return newSession(stream, s.find).serve()
}

func (s *stageServer) find(handle uint32) *configured {
	s.mu.Lock()
	defer s.mu.Unlock()
	if handle == 0 || int(handle) > len(s.stages) {
		return nil
	}
	return s.stages[handle-1]
}

// service gives go-plugin the gRPC service to register.
type service struct {
	plugin.NetRPCUnsupportedPlugin
	register func(*grpc.Server)
}

func (s *service) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	s.register(server)
	return nil
}

func (s *service) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a plugin is no host")
}

// streamWorkers is how many goroutines stand ready for calls. A new one would
// begin with a small stack for each call, and copy it three times until an HTTP
// exchange has room on it; more calls than these get one nevertheless.
const streamWorkers = 64

// serve runs the process of a plugin. The order matters: stdout belongs to the
// handshake, so it is taken away before anything of the author's can print.
func serve(name string, end func(), register func(started func(), s *grpc.Server)) {
	if os.Getenv(proto.CookieKey) != proto.CookieValue {
		fmt.Fprintf(os.Stderr, "%s is a plugin of Penstock and runs under it: name it in a plugin block of pipeline.hcl\n", name)
		os.Exit(1)
	}
	stdout := divert()
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: keys}))
	slog.SetDefault(logger)
	log.SetFlags(0)
	if end == nil {
		end = func() {}
	}
	go exitWithHost(end)
	go exitWhenTold(end)
	collectLate()

	// go-plugin replaces both streams once more, by pipes over gRPC that lose
	// their last lines in a crash. The first call comes after that.
	stderr := os.Stderr
	started := sync.OnceFunc(func() { os.Stdout, os.Stderr = stderr, stderr })
	os.Stdout = stdout
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: proto.Version, MagicCookieKey: proto.CookieKey, MagicCookieValue: proto.CookieValue,
		},
		VersionedPlugins: map[int]plugin.PluginSet{
			proto.Version: {"plugin": &service{register: func(s *grpc.Server) { register(started, s) }}},
		},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options,
				grpc.MaxRecvMsgSize(proto.MaxMessage), grpc.MaxSendMsgSize(proto.MaxMessage),
				grpc.StaticStreamWindowSize(proto.StreamWindow), grpc.StaticConnWindowSize(proto.ConnWindow),
				grpc.NumStreamWorkers(streamWorkers))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: stderr, JSONFormat: true}),
	})
	end()
}

// keys names the members of a log line as docs/protocol.md does: time, level
// (debug, info, warn, error), message.
func keys(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.MessageKey:
		a.Key = "message"
	case slog.LevelKey:
		if level, ok := a.Value.Any().(slog.Level); ok {
			a.Value = slog.StringValue(levelName(level))
		}
	}
	return a
}

func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "debug"
	case level < slog.LevelWarn:
		return "info"
	case level < slog.LevelError:
		return "warn"
	}
	return "error"
}

// exitWithHost ends the process when its host is gone: the host holds the other
// end of stdin and never writes to it. Where stdin is no pipe it belongs to
// nobody (a terminal, /dev/null), and its end says nothing.
func exitWithHost(end func()) {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	end()
	killGroup()
	os.Exit(0)
}

// exitWhenTold ends the process on a SIGTERM, which the host, and the kernel where
// the host is killed, send to those of whom they know that they heed it.
func exitWhenTold(end func()) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	<-told
	end()
	killGroup()
	os.Exit(0)
}
