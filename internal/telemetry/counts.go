package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/penstock-run/penstock/dag"
)

// Counts are a run's own figures so far. They only grow.
type Counts struct {
	Ends     map[dag.End]int // items, those that earlier runs finished among them
	Executed int             // visits that plugins made
	Staging  int             // visits that were answered from staging

	Live, Cached, Replayed, Missed, Failed int // completions, by what came of them

	Calls int      // times that providers were asked
	USD   *float64 // nil: a price is not known
}

// Count keeps the figures that the next export tells. The map is not written to
// any more.
func (r *Run) Count(c Counts) {
	if r != nil {
		r.counts.Store(&c)
	}
}

// instruments makes what figures are sent with. They do nothing where none are.
func (r *Run) instruments(m metric.Meter) error {
	var errs [5]error
	r.tokens, errs[0] = m.Int64Histogram(metricTokens, metric.WithUnit("{token}"), metric.WithDescription("Number of input and output tokens used."), metric.WithExplicitBucketBoundaries(tokenBounds...))
	r.duration, errs[1] = m.Float64Histogram(metricDuration, metric.WithUnit("s"), metric.WithDescription("GenAI operation duration."), metric.WithExplicitBucketBoundaries(durationBounds...))
	r.workflow, errs[2] = m.Float64Histogram(metricWorkflow, metric.WithUnit("s"), metric.WithDescription("Duration of a run."), metric.WithExplicitBucketBoundaries(workflowBounds...))
	r.waits, errs[3] = m.Float64Histogram(metricWait, metric.WithUnit("s"), metric.WithDescription("How long a completion waited before each call."), metric.WithExplicitBucketBoundaries(durationBounds...))
	errs[4] = r.counters(m)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// counters tell the run's own figures, so that they add up to its summary.
func (r *Run) counters(m metric.Meter) error {
	var all [4]metric.Int64ObservableCounter
	var made []metric.Observable
	for n, c := range []struct{ name, unit, what string }{
		{metricItems, "{item}", "Items, by how they ended."},
		{metricVisits, "{visit}", "Visits, by who answered."},
		{metricCompletions, "{completion}", "Completions that visits asked for, by what came of them."},
		{metricCalls, "{call}", "Calls of providers, those in vain among them."},
	} {
		counter, err := m.Int64ObservableCounter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.what))
		if err != nil {
			return err
		}
		all[n], made = counter, append(made, counter)
	}
	cost, err := m.Float64ObservableCounter(metricCost, metric.WithUnit("USD"), metric.WithDescription("What the calls cost."))
	if err != nil {
		return err
	}
	_, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		c := r.counts.Load()
		if c == nil {
			return nil
		}
		workflow := attribute.String(workflowName, r.facts.Pipeline)
		tell := func(counter metric.Int64Observable, n int, of ...attribute.KeyValue) {
			if n > 0 {
				o.ObserveInt64(counter, int64(n), metric.WithAttributes(append(of, workflow)...))
			}
		}
		for end, n := range c.Ends {
			tell(all[0], n, attribute.String(itemEnd, string(end)))
		}
		tell(all[1], c.Executed, attribute.String(visitOrigin, originExecuted))
		tell(all[1], c.Staging, attribute.String(visitOrigin, originStaging))
		for _, of := range []struct {
			origin string
			n      int
		}{{"live", c.Live}, {"cache", c.Cached}, {"cassette", c.Replayed}, {"missed", c.Missed}, {"failed", c.Failed}} {
			tell(all[2], of.n, attribute.String(callOrigin, of.origin))
		}
		tell(all[3], c.Calls)
		if c.USD != nil && c.Calls > 0 {
			o.ObserveFloat64(cost, *c.USD, metric.WithAttributes(workflow))
		}
		return nil
	}, append(made, cost)...)
	return err
}
