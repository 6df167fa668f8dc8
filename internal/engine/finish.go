package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/staging"
)

// newRunID is the time and six random hex digits: 20260115T101500Z-4f2a91.
func newRunID(at time.Time) string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails: it ends the process instead
	return at.Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}

// runDocument is what `run` reads in routes and decide stages.
func runDocument(e *engine) dag.Doc {
	b, err := json.Marshal(map[string]any{
		"id": e.runID, "started_at": e.started.Format(time.RFC3339), "dry": e.Dry, "live": !e.replaying(),
	}, json.Deterministic(true))
	if err != nil {
		panic("engine: a run that is not JSON: " + err.Error())
	}
	return dag.Doc{Bytes: b}
}

// settle writes a family's record once all its members have ended, and gives
// its claim back.
func (e *engine) settle(f *family) {
	final := true
	record := &f.record
	record.Key, record.Source, record.ItemKey, record.Run = f.key, f.source, f.members[0].key, e.runID
	if first := f.members[0]; first.t != nil {
		record.Intake, record.Origin = f.intake, first.t.Trail().Origin
	}
	for _, m := range f.members {
		record.Ends[endIndex(m.end)]++
		// A doubled key is the file's fault: it may be mended without a change of this line.
		final = final && m.end.Final() && (m.refused == nil || m.refused.Code != dag.EDuplicateKey)
	}
	record.Final = final && !e.Dry
	e.pack(f, record)
	err := e.store.PutTrail(record)
	if err == nil {
		err = e.store.Release([]dag.Digest{f.key})
	}
	if err != nil && e.failure == nil {
		e.failure = err
	}
}

func endIndex(end dag.End) int {
	for i, known := range dag.Ends {
		if known == end {
			return i
		}
	}
	panic("engine: an end that is not in the closed list: " + string(end))
}

// finish ends a run: what was made is durable, processes are gone, the items
// add up, and the exit is known.
func (e *engine) finish(ctx context.Context, runErr error) (*Summary, error) {
	// A commit that is under way stands, so its verdicts are heard.
	for e.committing || e.judging > 0 {
		e.handle(<-e.events)
	}
	why := e.stop.why // empty: nothing ended it early
	e.stopVisits("interrupted")
	e.stop.over = true
	e.drainReady()
	e.parkOpen()
	err := errors.Join(runErr, e.stop.cause, e.flush(true))
	counted := e.completions.Counters()
	e.tally.Pages, e.tally.PagesReplayed = counted.PagesRead, counted.PagesReplayed
	e.tally.Waits = e.waited()
	s := &Summary{RunID: e.runID, Tally: e.tally, Problems: e.tally.inOrder(), More: e.tally.dropped, Dry: e.Dry, Tripped: e.tripped()}
	conservation := e.tally.check()
	switch {
	case conservation != nil || e.stop.kind == dag.KindBug:
		s.Kind = dag.KindBug
	case e.stop.interrupt:
		s.Kind = dag.KindInterrupted
	case e.stop.kind == dag.KindDiffers || e.stop.kind == dag.KindConfig:
		s.Kind = e.stop.kind
	case e.stop.kind == dag.KindStopped || len(s.Tripped) > 0:
		s.Kind = dag.KindStopped
	case e.tally.Infrastructure > 0:
		s.Kind = dag.KindInfrastructure
	}
	if s.Kind == 0 && err == nil {
		for _, line := range e.choice.unmet() {
			e.Report.Warn(line)
		}
	}
	end := staging.RunEnd{ID: e.runID, Ended: e.Now().UTC(), Tally: e.tally.Ends, Exit: s.Kind.ExitStatus(), Counts: e.runCounts(counted), Tripped: s.Tripped}
	err = errors.Join(err, conservation)
	if err != nil {
		end.Exit, end.Error = dag.KindOf(err).ExitStatus(), clip(err.Error(), errorKept) // as the process will
	} else if s.Kind != 0 {
		end.Error = clip(cmp.Or(e.stop.said, why), errorKept)
	}
	s.Trace = e.trace.TraceID()
	e.endTrace(end.Exit)
	return s, joinOnce(err, e.store.EndRun(end), e.close(ctx))
}

// runCounts is what the run's own record tells of it besides how its items ended.
func (e *engine) runCounts(of completion.Counters) *staging.RunCounts {
	t := &e.tally
	c := &staging.RunCounts{
		TakenIn: t.TakenIn, Spawned: t.Spawned, Settled: t.Settled, Duplicates: t.Duplicates, Visits: t.Visits, Reused: t.Reused,
		Calls: t.Calls, Infrastructure: t.Infrastructure, Pages: t.Pages, PagesReplayed: t.PagesReplayed,
		LeftOut: t.LeftOut.Only + t.LeftOut.Limit,
		Waits:   t.Waits,
		Asked:   of.Calls, Input: of.Usage.Input, Cached: of.Usage.CachedInput, Output: of.Usage.Output,
	}
	c.USD = e.cost(of)
	return c
}

// cost is what the calls cost; nil where the price of one is not known.
func (e *engine) cost(of completion.Counters) *float64 {
	if of.Unpriced > 0 {
		return nil
	}
	return &of.USD
}

// errorKept bounds the text of an error that is kept for people.
const errorKept = 2000

// joinOnce is errors.Join without what was said in the same words before: on a full
// disk each write that is left fails for the one cause.
func joinOnce(errs ...error) error {
	var kept []error
	said := map[string]bool{}
	for len(errs) > 0 {
		err := errs[0]
		errs = errs[1:]
		// Errors that are joined with words between them are one message.
		if several, ok := err.(interface{ Unwrap() []error }); ok && errors.Join(several.Unwrap()...).Error() == err.Error() {
			errs = append(several.Unwrap(), errs...)
			continue
		}
		if err != nil && !said[err.Error()] {
			said[err.Error()] = true
			kept = append(kept, err)
		}
	}
	return errors.Join(kept...)
}

// tripped names the buckets whose breaker is open.
func (e *engine) tripped() []string {
	var names []string
	for _, b := range e.gate.Breakers() {
		if b.TrippedAt != nil {
			names = append(names, b.Bucket)
		}
	}
	return names
}

// parkOpen parks what a run that ended early still held.
func (e *engine) parkOpen() {
	reason := e.stop.reason()
	for _, v := range e.visits {
		v.trace.Failed("interrupted")
		for _, w := range v.waiters {
			e.park(w.item, reason)
		}
	}
	e.parkWaiting()
	for _, b := range e.buckets {
		for _, f := range append([]*family(nil), b.families...) {
			for _, m := range append([]*item(nil), f.members...) {
				e.park(m, reason)
			}
		}
	}
	for _, it := range e.decided {
		e.park(it, reason)
	}
}

// close lets everything go. What is left in the store's buffers is written.
func (e *engine) close(ctx context.Context) error {
	close(e.closed) // results that nobody waits for any more hold nobody up
	var errs []error
	if e.host != nil {
		errs = append(errs, e.host.Close(context.WithoutCancel(ctx)))
	}
	errs = append(errs, e.said.Close())
	if e.gate != nil {
		errs = append(errs, e.gate.Close())
	}
	if e.web != nil {
		errs = append(errs, e.web.Close())
	}
	if e.completions != nil {
		errs = append(errs, e.completions.Close())
	}
	if e.intake.reader != nil {
		errs = append(errs, e.intake.reader.Close())
	}
	if e.store != nil {
		errs = append(errs, e.store.Close())
	}
	return errors.Join(errs...)
}
