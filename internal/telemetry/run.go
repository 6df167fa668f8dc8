package telemetry

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/penstock-run/penstock/dag"
)

// RunFacts are what is known of a run at its start.
type RunFacts struct {
	ID       string
	Pipeline string
	Dry      bool
	Started  time.Time
}

// Run is a run that is being told of. Its methods may be called by several
// goroutines, but for End and Close.
type Run struct {
	x        *Exporter
	facts    RunFacts
	tracer   trace.Tracer
	context  context.Context // bears the run's span
	span     trace.Span
	traces   *sdktrace.TracerProvider // nil: none are sent
	sent     *spanCount
	meters   *sdkmetric.MeterProvider // nil: no figures are sent
	measured *metricsSent
	visits   sync.Map // id of a visit under way → *Visit
	counts   atomic.Pointer[Counts]
	tokens   metric.Int64Histogram
	duration metric.Float64Histogram
	waits    metric.Float64Histogram
	workflow metric.Float64Histogram
}

// begin starts the run's span, below the one that TRACEPARENT names.
func (r *Run) begin() {
	parent := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{
		"traceparent": r.x.parent, "tracestate": r.x.parentAs,
	})
	r.context, r.span = r.tracer.Start(parent, operationInvoke+" "+r.facts.Pipeline, trace.WithTimestamp(r.facts.Started), trace.WithAttributes(
		attribute.String(operationName, operationInvoke), attribute.String(workflowName, r.facts.Pipeline),
		attribute.String(runID, r.facts.ID), attribute.Bool(runDry, r.facts.Dry),
	))
}

// TraceID is the run's trace in hexadecimal; empty where it is not sent.
func (r *Run) TraceID() string {
	if r == nil || r.traces == nil || !r.span.SpanContext().IsSampled() {
		return ""
	}
	return r.span.SpanContext().TraceID().String()
}

// End ends the run's span. what is the word for its kind of exit, empty where it
// came to its end.
func (r *Run) End(at time.Time, exit int, what string) {
	if r == nil {
		return
	}
	r.span.SetAttributes(attribute.Int(runExit, exit))
	of := []attribute.KeyValue{attribute.String(operationName, operationInvoke), attribute.String(workflowName, r.facts.Pipeline)}
	if what != "" {
		wrong(r.span, what)
		of = append(of, attribute.String(errorType, what))
	}
	r.span.End(trace.WithTimestamp(at))
	r.workflow.Record(context.Background(), at.Sub(r.facts.Started).Seconds(), metric.WithAttributes(of...))
}

// wrong marks a span as failed, by a word that is no text of an error.
func wrong(span trace.Span, kind string) {
	if kind == "" {
		kind = errorOther
	}
	span.SetAttributes(attribute.String(errorType, kind))
	span.SetStatus(codes.Error, "")
}

// Item is an item of the run that has not ended.
type Item struct {
	run     *Run
	context context.Context // bears the item's span
	span    trace.Span
}

// Item begins the span of an item that a source gave.
func (r *Run) Item(key, bucket, source string) *Item {
	if r == nil {
		return nil
	}
	return r.item(r.context, key, bucket, source)
}

// Child begins the span of an item that this one was fanned out into.
func (i *Item) Child(key, bucket, source string) *Item {
	if i == nil {
		return nil
	}
	return i.run.item(i.context, key, bucket, source)
}

func (r *Run) item(parent context.Context, key, bucket, source string) *Item {
	i := &Item{run: r}
	i.context, i.span = r.tracer.Start(parent, "item", trace.WithAttributes(
		attribute.String(itemKey, clip(key)), attribute.String(itemBucket, clip(bucket)), attribute.String(itemSource, source)))
	return i
}

// Checked tells what a check of the gate said: its name, its state, its failure
// code, and the figure that it compared, where it has one.
func (i *Item) Checked(name, state string, code dag.Code, figure *float64) {
	if i == nil || !i.span.IsRecording() {
		return
	}
	said := []attribute.KeyValue{attribute.String(evaluationName, name), attribute.String(evaluationLabel, state), attribute.String(checkCode, string(code))}
	if figure != nil {
		said = append(said, attribute.Float64(evaluationValue, *figure))
	}
	i.span.AddEvent(evaluation, trace.WithAttributes(said...))
}

// End ends the item's span, with the codes that decided. Only an item that
// failed, or that was parked, went wrong: a rejection is a result.
func (i *Item) End(end dag.End, decided []dag.Code) {
	if i == nil {
		return
	}
	i.span.SetAttributes(attribute.String(itemEnd, string(end)))
	words := make([]string, len(decided))
	for n, code := range decided {
		words[n] = string(code)
	}
	if len(words) > 0 {
		i.span.SetAttributes(attribute.StringSlice(itemCodes, words))
	}
	if end == dag.Failed || end == dag.Parked {
		kind := string(end)
		if len(words) > 0 {
			kind = words[0]
		}
		wrong(i.span, kind)
	}
	i.span.End()
}

// clip bounds what comes from outside of the pipeline.
func clip(text string) string {
	const most = 256
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
