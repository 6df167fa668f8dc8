package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/penstock-run/penstock/dag"
)

// VisitFacts say which visit it is.
type VisitFacts struct {
	Stage   *dag.Stage
	Pass    int
	Sample  int
	Attempt int // from 1; 0: nobody made one
}

func (f *VisitFacts) attributes(origin string) []attribute.KeyValue {
	all := []attribute.KeyValue{
		attribute.String(visitStage, f.Stage.Name), attribute.Int(visitPass, f.Pass), attribute.String(visitOrigin, origin),
	}
	if p := f.Stage.Plugin; p != nil {
		name := p.Source
		if name == "" {
			name = p.Name
		}
		all = append(all, attribute.String(visitPlugin, name))
	}
	if f.Stage.Samples > 0 {
		all = append(all, attribute.Int(visitSample, f.Sample))
	}
	if f.Attempt > 0 {
		all = append(all, attribute.Int(visitAttempt, f.Attempt))
	}
	return all
}

// Visit is one attempt at a visit that a plugin is at work on.
type Visit struct {
	run     *Run
	id      uint64
	context context.Context // bears the visit's span
	span    trace.Span
	ended   bool
}

// Visit begins the span of an attempt. Until it ends, Run.Visit finds it by its
// id, which is never used twice.
func (i *Item) Visit(id uint64, f VisitFacts) *Visit {
	if i == nil {
		return nil
	}
	v := &Visit{run: i.run, id: id}
	v.context, v.span = i.run.tracer.Start(i.context, "visit "+f.Stage.Name, trace.WithAttributes(f.attributes(originExecuted)...))
	i.run.visits.Store(id, v)
	return v
}

// Visit finds a visit that has not ended; nil where there is none.
func (r *Run) Visit(id uint64) *Visit {
	if r == nil {
		return nil
	}
	v, _ := r.visits.Load(id)
	found, _ := v.(*Visit)
	return found
}

// End ends the span. code is empty where the visit came to an outcome. A second
// End does nothing: a visit that is given up may still be answered.
func (v *Visit) End(outcome string, code dag.Code) {
	if v == nil || v.ended {
		return
	}
	v.ended = true
	v.run.visits.Delete(v.id)
	v.said(v.span, outcome, code)
}

// Failed ends the span of an attempt that failed for want of infrastructure.
func (v *Visit) Failed(code dag.Code) {
	if v == nil || v.ended {
		return
	}
	v.ended = true
	v.run.visits.Delete(v.id)
	wrong(v.span, string(code))
	v.span.End()
}

func (*Visit) said(span trace.Span, outcome string, code dag.Code) {
	if outcome != "" {
		span.SetAttributes(attribute.String(visitOutcome, outcome))
	}
	if code != "" {
		wrong(span, string(code))
	}
	span.End()
}

// Known tells of a visit that was answered without a plugin: from staging, or,
// where shared, by what another item's visit has just come to.
func (i *Item) Known(f VisitFacts, shared bool, outcome string, code dag.Code) {
	if i == nil {
		return
	}
	origin := originStaging
	if shared {
		origin = originShared
	}
	_, span := i.run.tracer.Start(i.context, "visit "+f.Stage.Name, trace.WithAttributes(f.attributes(origin)...))
	(*Visit)(nil).said(span, outcome, code)
}
