package telemetry

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFromEnvironment(t *testing.T) {
	const traces, metrics, both = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://h", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://h", "OTEL_EXPORTER_OTLP_ENDPOINT=http://h"
	for _, test := range []struct {
		name, set       string
		traces, metrics string
		wrong           []string
	}{
		{name: "nothing", set: ""},
		{name: "what is no request", set: "OTEL_SERVICE_NAME=n OTEL_TRACES_SAMPLER=always_on OTEL_EXPORTER_OTLP_PROTOCOL=grpc TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		{name: "both", set: both, traces: overHTTP, metrics: overHTTP},
		{name: "traces alone", set: traces, traces: overHTTP},
		{name: "metrics alone", set: metrics, metrics: overHTTP},
		{name: "one left out", set: both + " OTEL_METRICS_EXPORTER=none", traces: overHTTP},
		{name: "an exporter and no endpoint", set: "OTEL_TRACES_EXPORTER=otlp", traces: overHTTP},
		{name: "disabled", set: both + " OTEL_SDK_DISABLED=TRUE"},
		{name: "not disabled", set: both + " OTEL_SDK_DISABLED=false", traces: overHTTP, metrics: overHTTP},
		{name: "over gRPC", set: both + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc", traces: overGRPC, metrics: overGRPC},
		{name: "each over its own", set: both + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/protobuf", traces: overGRPC, metrics: overHTTP},
		{name: "another protocol", set: both + " OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json", metrics: overHTTP,
			wrong: []string{`telemetry: no traces are sent over "http/json": set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf or grpc`}},
		{name: "another exporter", set: both + " OTEL_TRACES_EXPORTER=zipkin", metrics: overHTTP,
			wrong: []string{`telemetry: OTEL_TRACES_EXPORTER names "zipkin", which is not known here: write otlp or none`}},
		{name: "two exporters", set: both + " OTEL_TRACES_EXPORTER=console,otlp OTEL_METRICS_EXPORTER=none", traces: overHTTP,
			wrong: []string{`telemetry: OTEL_TRACES_EXPORTER names "console", which is not known here: write otlp or none`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, name := range []string{"ENDPOINT", "TRACES_ENDPOINT", "METRICS_ENDPOINT", "PROTOCOL", "TRACES_PROTOCOL", "METRICS_PROTOCOL"} {
				t.Setenv("OTEL_EXPORTER_OTLP_"+name, "")
			}
			for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"} {
				t.Setenv(name, "")
			}
			for _, setting := range strings.Fields(test.set) {
				name, value, _ := strings.Cut(setting, "=")
				t.Setenv(name, value)
			}
			x, wrong := FromEnvironment("1")
			if diff := cmp.Diff(test.wrong, wrong); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var got [2]string
			if x != nil {
				got = [2]string{x.traces, x.metrics}
			}
			if want := [2]string{test.traces, test.metrics}; got != want {
				t.Errorf("traces and metrics go over %q, want %q", got, want)
			}
			if x != nil && test.traces+test.metrics == "" {
				t.Error("nothing is asked for, but the exporter is not nil")
			}
		})
	}
}

// What a collector or the SDK says may hold what a header or an endpoint held.
func TestCredentialsAreNotRepeated(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://who:s3cret@127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc, x-key=def")
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-other=ghi")
	x, _ := FromEnvironment("1")
	x.warn(`Post "http://who:s3cret@127.0.0.1:1/v1": s3cret, Bearer abc, Bearer%20abc, def and ghi`)
	want := []string{`telemetry: Post "http://(sensitive)@127.0.0.1:1/v1": (sensitive), (sensitive), (sensitive), (sensitive) and (sensitive)`}
	if diff := cmp.Diff(want, x.taken()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
