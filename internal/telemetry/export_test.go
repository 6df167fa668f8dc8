package telemetry

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/penstock-run/penstock/dag"
	wire "github.com/penstock-run/penstock/plugins/proto"
)

// Without an Exporter every call does nothing.
func TestNil(t *testing.T) {
	var x *Exporter
	r := x.Begin(RunFacts{ID: "r"})
	i := r.Item("k", "b", "s").Child("k", "b", "s")
	v := i.Visit(1, VisitFacts{})
	c := r.Visit(1).Complete(nil, nil)
	c.Attempt().End(nil, nil, false, dag.Peer{})
	c.End(nil, dag.Peer{})
	v.Failed("E_TIMEOUT")
	v.End("ok", "")
	i.Known(VisitFacts{}, false, "ok", "")
	i.Checked("c", "held", "C", nil)
	i.End(dag.Accepted, nil)
	r.Count(Counts{})
	r.End(time.Time{}, 0, "")
	if r != nil || i != nil || v != nil || c != nil || r.TraceID() != "" || x.Close(t.Context()) != nil {
		t.Error("something is told where nobody is")
	}
}

// grpcCollector keeps the names of the spans and of the figures that it is sent.
type grpcCollector struct {
	tracepb.UnimplementedTraceServiceServer
	mu    sync.Mutex
	names map[string]int
}

func (c *grpcCollector) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names[name]++
}

func (c *grpcCollector) Export(_ context.Context, r *tracepb.ExportTraceServiceRequest) (*tracepb.ExportTraceServiceResponse, error) {
	for _, of := range r.ResourceSpans {
		for _, s := range of.ScopeSpans {
			for _, span := range s.Spans {
				c.add(span.Name)
			}
		}
	}
	return &tracepb.ExportTraceServiceResponse{}, nil
}

type grpcMetrics struct {
	metricspb.UnimplementedMetricsServiceServer
	to *grpcCollector
}

func (m grpcMetrics) Export(_ context.Context, r *metricspb.ExportMetricsServiceRequest) (*metricspb.ExportMetricsServiceResponse, error) {
	for _, of := range r.ResourceMetrics {
		for _, s := range of.ScopeMetrics {
			for _, metric := range s.Metrics {
				m.to.add(metric.Name)
			}
		}
	}
	return &metricspb.ExportMetricsServiceResponse{}, nil
}

func TestOverGRPC(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &grpcCollector{names: map[string]int{}}
	s := grpc.NewServer()
	tracepb.RegisterTraceServiceServer(s, c)
	metricspb.RegisterMetricsServiceServer(s, grpcMetrics{to: c})
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	x, _ := FromEnvironment("1")
	r := x.Begin(RunFacts{ID: "r", Pipeline: "p", Started: time.Now()})
	r.Item("k", "b", "s").End(dag.Accepted, nil)
	r.Count(Counts{Ends: map[dag.End]int{dag.Accepted: 1}})
	r.End(time.Now(), 0, "")
	if said := x.Close(t.Context()); said != nil {
		t.Error(said)
	}
	want := map[string]int{"invoke_workflow p": 1, "item": 1, "gen_ai.workflow.duration": 1, "penstock.items": 1}
	if diff := cmp.Diff(want, c.names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A collector that does not answer costs neither memory nor time: what the queue
// has no room for is dropped, and the end says how many.
func TestWhatIsDroppedIsCounted(t *testing.T) {
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(over) })
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", s.URL)
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "16")
	x, _ := FromEnvironment("1")
	r := x.Begin(RunFacts{ID: "r", Pipeline: "p", Started: time.Now()})
	for range 999 {
		r.Item("k", "b", "s").End(dag.Accepted, nil)
	}
	r.End(time.Now(), 0, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	want := []string{
		"telemetry: the collector does not take traces: no answer in time",
		"telemetry: 1000 of 1000 spans were not sent: the collector was too slow, or did not take them",
	}
	if diff := cmp.Diff(want, x.Close(ctx)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Nothing of a request's or an answer's content is sent, nor what a server echoes
// of the key, nor the text of an error.
func TestNoContent(t *testing.T) {
	var mu sync.Mutex
	var sent bytes.Buffer
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = sent.ReadFrom(r.Body)
	}))
	t.Cleanup(s.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	x, _ := FromEnvironment("1")
	r := x.Begin(RunFacts{ID: "r", Pipeline: "p", Started: time.Now()})
	p := &dag.Provider{Name: "model", Model: "m", Secrets: map[string]string{"api_key": "canary-key", "headers.authorization": "Bearer canary-header"}}
	i := r.Item("k", "b", "s")
	v := i.Visit(7, VisitFacts{Stage: &dag.Stage{Name: "writer", Provider: p}, Pass: 1, Attempt: 1})
	request := &wire.CompletionRequest{System: "canary-system", Schema: []byte(`{"const":"canary-schema"}`),
		Messages: []*wire.Message{{Role: "user", Parts: []*wire.Part{{Text: "canary-prompt"}}}},
		Sampling: &wire.Sampling{Stop: []string{"canary-stop"}, Seed: proto.Int64(0)}}
	for _, reply := range []*wire.CompletionReply{
		{Text: "canary-text", Json: []byte(`"canary-json"`), Raw: []byte("canary-raw"), Refusal: "canary-refusal", Notes: []string{"canary-note"},
			WireSchema: []byte("canary-wire"), Model: "m canary-key", RequestId: "canary-header", FinishReason: "stop", Usage: &wire.Usage{Raw: []byte("canary-usage")}},
		{Error: &wire.ProviderError{Kind: wire.ProviderError_INVALID_REQUEST, Message: "canary-error"}},
		{Error: &wire.ProviderError{Message: "canary-error"}},
		nil,
	} {
		c := r.Visit(7).Complete(p, request)
		a := c.Attempt()
		a.End(reply, errors.New("canary-failure"), false, dag.Peer{System: "s", Address: "127.0.0.1", Port: 1})
		c.End(reply, dag.Peer{})
		r.Visit(7).Complete(p, request).End(reply, dag.Peer{})
	}
	v.End("ok", "")
	if r.Visit(7) != nil {
		t.Error("a visit that ended is found")
	}
	i.End(dag.Parked, []dag.Code{"E_TIMEOUT"})
	r.End(time.Now(), 2, "infrastructure")
	if said := x.Close(t.Context()); said != nil {
		t.Error(said)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, word := range []string{"invalid_request", "_OTHER", "E_TIMEOUT", "infrastructure", "gen_ai.request.seed"} {
		if !strings.Contains(sent.String(), word) {
			t.Errorf("%q was not sent", word)
		}
	}
	if at := strings.Index(sent.String(), "canary"); at >= 0 {
		t.Errorf("sent: %q", sent.String()[max(0, at-40):at+40])
	}
}
