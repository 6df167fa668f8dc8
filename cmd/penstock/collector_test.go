package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sort"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlpmetrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	otlptrace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collectors are those of the scripts that started one.
type collectors struct {
	mu sync.Mutex
	of map[string]*collector
}

// collector is an OpenTelemetry collector over HTTP that keeps what it was sent.
type collector struct {
	mu      sync.Mutex
	raw     bytes.Buffer // all bodies, as they were before compression
	headers []string     // the values of X-Key
	spans   []*otlptrace.Span
	scopes  map[string]bool // schema and scope of spans and figures
	who     map[string]bool // attributes of the resources
	figures map[string]*otlpmetrics.Metric
}

// collector starts one for the rest of the script; $COLLECTOR is its address:
// collector [HOW]. It takes all that it is sent, or else: "refuse" answers 400
// with a text that has the header X-Key in it, "garbage" answers 200 with what is
// no message, "hang" never answers.
func (all *collectors) collector(ts *testscript.TestScript, neg bool, args []string) {
	how := strings.Join(args, " ")
	if neg || len(args) > 1 {
		ts.Fatalf("usage: collector [refuse|garbage|hang]")
	}
	c := &collector{scopes: map[string]bool{}, who: map[string]bool{}, figures: map[string]*otlpmetrics.Metric{}}
	over := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := c.take(r)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		case how == "refuse":
			http.Error(w, "not with "+r.Header.Get("X-Key"), http.StatusBadRequest)
		case how == "garbage":
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write([]byte("\xff\xff\xff no message"))
		case how == "hang":
			<-over
		default:
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write(answer)
		}
	}))
	s.Start()
	ts.Defer(s.Close)
	ts.Defer(func() { close(over) })
	ts.Setenv("COLLECTOR", s.URL)
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.of == nil {
		all.of = map[string]*collector{}
	}
	all.of[ts.Getenv("WORK")] = c
}

// take reads a request of either signal, and gives what answers it.
func (c *collector) take(r *http.Request) ([]byte, error) {
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		in = unzipped
	}
	body, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	c.headers = append(c.headers, r.Header.Get("X-Key"))
	switch r.URL.Path {
	case "/v1/traces":
		m := &tracepb.ExportTraceServiceRequest{}
		if err := proto.Unmarshal(body, m); err != nil {
			return nil, err
		}
		for _, of := range m.ResourceSpans {
			c.resource(of.Resource.GetAttributes())
			for _, s := range of.ScopeSpans {
				c.scopes["spans of "+s.Scope.GetName()+" "+s.SchemaUrl] = true
				c.spans = append(c.spans, s.Spans...)
			}
		}
		return proto.Marshal(&tracepb.ExportTraceServiceResponse{})
	case "/v1/metrics":
		m := &metricspb.ExportMetricsServiceRequest{}
		if err := proto.Unmarshal(body, m); err != nil {
			return nil, err
		}
		for _, of := range m.ResourceMetrics {
			c.resource(of.Resource.GetAttributes())
			for _, s := range of.ScopeMetrics {
				c.scopes["figures of "+s.Scope.GetName()+" "+s.SchemaUrl] = true
				for _, metric := range s.Metrics {
					c.figures[metric.Name] = metric // the last export has it all
				}
			}
		}
		return proto.Marshal(&metricspb.ExportMetricsServiceResponse{})
	}
	return nil, fmt.Errorf("nothing is sent to %s", r.URL.Path)
}

func (c *collector) resource(all []*common.KeyValue) {
	for _, line := range written(all) {
		c.who[line] = true
	}
}

func (all *collectors) find(ts *testscript.TestScript) *collector {
	all.mu.Lock()
	defer all.mu.Unlock()
	c := all.of[ts.Getenv("WORK")]
	if c == nil {
		ts.Fatalf("no collector was started")
	}
	return c
}

// collected writes what the collector was told to a file, and forgets it:
// collected FILE. First the resource and the scopes, then the trace as a tree,
// children in the order in which they began, then the figures.
func (all *collectors) collected(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: collected FILE")
	}
	c := all.find(ts)
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, set := range []map[string]bool{c.who, c.scopes} {
		for _, line := range sorted(set) {
			fmt.Fprintln(&b, line)
		}
	}
	c.tree(&b)
	var names []string
	for name := range c.figures {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, line := range points(c.figures[name]) {
			fmt.Fprintln(&b, line)
		}
	}
	c.spans, c.who, c.scopes, c.figures = nil, map[string]bool{}, map[string]bool{}, map[string]*otlpmetrics.Metric{}
	c.headers = nil
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o644))
}

// told asks whether a text stands anywhere in what was sent: told TEXT. It never
// forgets.
func (all *collectors) told(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] told TEXT")
	}
	c := all.find(ts)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raw.Len() == 0 {
		ts.Fatalf("the collector was told nothing")
	}
	if got := bytes.Contains(c.raw.Bytes(), []byte(args[0])); got == neg {
		ts.Fatalf("%q in what was sent: %v", args[0], got)
	}
}

// keyed compares the header X-Key of all that was sent: keyed VALUE.
func (all *collectors) keyed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keyed VALUE")
	}
	c := all.find(ts)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.headers) == 0 {
		ts.Fatalf("the collector was told nothing")
	}
	for _, value := range c.headers {
		if value != args[0] {
			ts.Fatalf("X-Key was %q, not %q", value, args[0])
		}
	}
}

// unsaid are attributes whose value differs from run to run.
var unsaid = map[string]bool{"server.port": true, "service.instance.id": true, "penstock.run.id": true, "telemetry.sdk.version": true, "gen_ai.response.id": true}

func written(all []*common.KeyValue) []string {
	var lines []string
	for _, kv := range all {
		value := valueOf(kv.Value)
		if unsaid[kv.Key] {
			value = "…"
		}
		lines = append(lines, kv.Key+"="+value)
	}
	sort.Strings(lines)
	return lines
}

func valueOf(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *common.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	case *common.AnyValue_ArrayValue:
		var all []string
		for _, one := range v.ArrayValue.Values {
			all = append(all, valueOf(one))
		}
		return strings.Join(all, ",")
	}
	return fmt.Sprintf("%v", v)
}

// tree writes the spans below their parents. A parent that was not sent is named.
func (c *collector) tree(b *strings.Builder) {
	below := map[string][]*otlptrace.Span{}
	known := map[string]bool{}
	for _, s := range c.spans {
		known[string(s.SpanId)] = true
	}
	for _, s := range c.spans {
		parent := string(s.ParentSpanId)
		if !known[parent] {
			if parent != "" {
				fmt.Fprintf(b, "below %x of trace %x:\n", parent, s.TraceId)
			}
			parent = ""
		}
		below[parent] = append(below[parent], s)
	}
	var write func(parent, indent string)
	write = func(parent, indent string) {
		children := below[parent]
		sort.SliceStable(children, func(i, j int) bool { return children[i].StartTimeUnixNano < children[j].StartTimeUnixNano })
		for _, s := range children {
			kind := ""
			if s.Kind == otlptrace.Span_SPAN_KIND_CLIENT {
				kind = " (client)"
			}
			if s.Status.GetCode() == otlptrace.Status_STATUS_CODE_ERROR {
				kind += " (error)" + s.Status.GetMessage()
			}
			fmt.Fprintf(b, "%s%s%s\n", indent, s.Name, kind)
			for _, line := range written(s.Attributes) {
				fmt.Fprintf(b, "%s  | %s\n", indent, line)
			}
			for _, e := range s.Events {
				fmt.Fprintf(b, "%s  * %s %s\n", indent, e.Name, strings.Join(written(e.Attributes), " "))
			}
			write(string(s.SpanId), indent+"  ")
		}
	}
	write("", "")
}

// points writes a figure for each set of attributes. Of durations only the count
// is the same in each run.
func points(m *otlpmetrics.Metric) []string {
	var lines []string
	add := func(of []*common.KeyValue, value string) {
		lines = append(lines, fmt.Sprintf("%s{%s} %s", m.Name, strings.Join(written(of), " "), value))
	}
	for _, p := range m.GetSum().GetDataPoints() {
		if _, float := p.Value.(*otlpmetrics.NumberDataPoint_AsDouble); float {
			add(p.Attributes, fmt.Sprintf("%.6f", p.GetAsDouble()))
			continue
		}
		add(p.Attributes, fmt.Sprint(p.GetAsInt()))
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		value := fmt.Sprintf("n=%d bounds=%d", p.Count, len(p.ExplicitBounds))
		if m.Unit != "s" {
			value += fmt.Sprintf(" sum=%v", p.GetSum())
		}
		add(p.Attributes, value)
	}
	sort.Strings(lines)
	return lines
}

func sorted(set map[string]bool) []string {
	var all []string
	for line := range set {
		all = append(all, line)
	}
	sort.Strings(all)
	return all
}

// nobody sets a variable to an address of this machine where nobody listens:
// nobody VARIABLE.
func nobody(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nobody VARIABLE")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], "http://"+l.Addr().String())
	ts.Check(l.Close())
}
