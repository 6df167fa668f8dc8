package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// queued is how many spans wait for the collector at most, where the environment
// does not say: what a fast run makes in the time of a slow export.
const queued = 8192

// Begin builds what the environment asks for and begins a run's trace. Nothing
// of the collector can make it fail: what is wrong is told, and left out.
func (x *Exporter) Begin(f RunFacts) *Run {
	if x == nil {
		return nil
	}
	// The SDK's own complaints would go to standard error, in its own words.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { x.warn(err.Error()) }))
	r := &Run{x: x, facts: f, tracer: tracenoop.NewTracerProvider().Tracer(scope)}
	who, err := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "penstock"), attribute.String("service.version", x.version), attribute.String("service.instance.id", f.ID),
	), resource.WithFromEnv())
	if err != nil {
		x.warn(err.Error())
	}
	if err := r.openTraces(who); err != nil {
		x.warn("no traces are sent: " + err.Error())
	}
	if err := r.openMetrics(who); err != nil {
		x.warn("no metrics are sent: " + err.Error())
	}
	r.begin()
	x.run = r
	return r
}

func (r *Run) openTraces(who *resource.Resource) error {
	var exporter sdktrace.SpanExporter
	var err error
	switch r.x.traces {
	case "":
		return nil
	case overGRPC:
		exporter, err = otlptracegrpc.New(context.Background())
	default:
		exporter, err = otlptracehttp.New(context.Background())
	}
	if err != nil {
		return err
	}
	r.sent = &spanCount{SpanExporter: exporter, failed: once{x: r.x, what: "traces"}}
	var options []sdktrace.BatchSpanProcessorOption
	if variable("OTEL_BSP_MAX_QUEUE_SIZE") == "" {
		options = append(options, sdktrace.WithMaxQueueSize(queued))
	}
	batches := sdktrace.NewBatchSpanProcessor(r.sent, options...)
	r.traces = sdktrace.NewTracerProvider(sdktrace.WithResource(who), sdktrace.WithSpanProcessor(counted{batches, r.sent}))
	r.tracer = r.traces.Tracer(scope, trace.WithInstrumentationVersion(r.x.version), trace.WithSchemaURL(SchemaURL))
	return nil
}

func (r *Run) openMetrics(who *resource.Resource) error {
	var exporter sdkmetric.Exporter
	var err error
	switch r.x.metrics {
	case "":
		return r.instruments(metricnoop.NewMeterProvider().Meter(scope))
	case overGRPC:
		exporter, err = otlpmetricgrpc.New(context.Background())
	default:
		exporter, err = otlpmetrichttp.New(context.Background())
	}
	if err != nil {
		return errors.Join(err, r.instruments(metricnoop.NewMeterProvider().Meter(scope)))
	}
	r.measured = &metricsSent{Exporter: exporter, failed: once{x: r.x, what: "metrics"}}
	reader := sdkmetric.NewPeriodicReader(r.measured)
	r.meters = sdkmetric.NewMeterProvider(sdkmetric.WithResource(who), sdkmetric.WithReader(reader))
	return r.instruments(r.meters.Meter(scope, metric.WithInstrumentationVersion(r.x.version), metric.WithSchemaURL(SchemaURL)))
}

// once tells of a failure of the collector the first time.
type once struct {
	x    *Exporter
	what string
	told sync.Once
}

func (o *once) tell(err error) {
	o.told.Do(func() {
		o.x.warn(fmt.Sprintf("the collector does not take %s: %s", o.what, oneLine(o.x.redact(err.Error()))))
	})
}

// spanCount counts the spans that ended, and those that the collector took.
type spanCount struct {
	sdktrace.SpanExporter
	failed       once
	ended, taken atomic.Int64
}

// ExportSpans hides the error from the SDK, which would tell each.
func (s *spanCount) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := s.SpanExporter.ExportSpans(ctx, spans); err != nil {
		if ctx.Err() == nil { // else the count tells of it
			s.failed.tell(err)
		}
		return nil
	}
	s.taken.Add(int64(len(spans)))
	return nil
}

// counted sees the spans that the queue is offered: it drops what it has no room
// for without a word.
type counted struct {
	sdktrace.SpanProcessor
	count *spanCount
}

func (c counted) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		c.count.ended.Add(1)
	}
	c.SpanProcessor.OnEnd(span)
}

// metricsSent tells of the first export that failed.
type metricsSent struct {
	sdkmetric.Exporter
	failed once
}

func (m *metricsSent) Export(ctx context.Context, figures *metricdata.ResourceMetrics) error {
	err := m.Exporter.Export(ctx, figures)
	if err != nil && ctx.Err() == nil { // else Close tells of it
		m.failed.tell(err)
	}
	return nil
}

// oneLine is what a person is told of an error of the collector's, whose answer
// may be a whole page.
func oneLine(text string) string { return clip(strings.Join(strings.Fields(text), " ")) }

// Close sends what has not been sent yet, until the context ends, and tells in
// lines what went wrong since Begin, each thing once.
func (x *Exporter) Close(ctx context.Context) []string {
	if x == nil || x.run == nil {
		return nil
	}
	x.run.close(ctx)
	return x.taken()
}

func (r *Run) close(ctx context.Context) {
	late := errors.New("no answer in time")
	var both sync.WaitGroup
	if r.traces != nil {
		both.Go(func() {
			if err := within(ctx, r.traces.Shutdown, late); err != nil {
				r.sent.failed.tell(err)
			}
		})
	}
	if r.meters != nil {
		both.Go(func() {
			if err := within(ctx, r.meters.Shutdown, late); err != nil {
				r.measured.failed.tell(err)
			}
		})
	}
	both.Wait()
	if r.sent == nil {
		return
	}
	if ended, taken := r.sent.ended.Load(), r.sent.taken.Load(); taken < ended {
		r.x.warn(fmt.Sprintf("%d of %d spans were not sent: the collector was too slow, or did not take them", ended-taken, ended))
	}
}

// within does something until the context ends: an export that is under way
// heeds it late, or not at all.
func within(ctx context.Context, do func(context.Context) error, late error) error {
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	select {
	case err := <-done:
		if ctx.Err() != nil {
			return late
		}
		return err
	case <-ctx.Done():
		return late
	}
}
