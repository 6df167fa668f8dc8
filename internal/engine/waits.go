package engine

import (
	"slices"
	"time"

	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/staging"
)

// waitBook counts waits of one kind, and the time in which there was one.
type waitBook struct {
	times, open int
	since       time.Time // when open came to be more than 0
	total       time.Duration
}

func (b *waitBook) begin(now time.Time) {
	if b.times++; b.open == 0 {
		b.since = now
	}
	b.open++
}

func (b *waitBook) end(now time.Time) {
	if b.open--; b.open == 0 {
		b.total += now.Sub(b.since)
	}
}

// waits are what the run waited for besides its providers. Those are booked by the
// completion service.
type waits struct {
	retries []waitBook // by stage index: visits between two attempts
	others  waitBook   // visits and items that another run had begun
}

// book is that of a visit that waits.
func (e *engine) book(v *visit) *waitBook {
	if v.id == 0 {
		return &e.waits.others
	}
	return &e.waits.retries[v.stage.Index]
}

// waited tells what the run has waited for; nil: nothing that is worth a word.
func (e *engine) waited() *staging.RunWaits {
	w := &staging.RunWaits{OtherRuns: seconds(e.waits.others.total)}
	for i := range e.waits.retries {
		if b := &e.waits.retries[i]; b.times > 0 {
			w.Retries = append(w.Retries, staging.RetryWaits{Stage: e.Graph.Stages[i].Name, Retries: b.times, Seconds: seconds(b.total)})
		}
	}
	for _, c := range e.completions.ByProvider() {
		if c.Refused+c.Unanswered == 0 && max(c.Paused, c.Paced, c.Full) < shownWait {
			continue // nothing to tell
		}
		w.Providers = append(w.Providers, staging.ProviderWaits{
			Provider: c.Provider, Calls: c.Calls, Refused: c.Refused, Unanswered: c.Unanswered,
			Paused: seconds(c.Paused), Paced: seconds(c.Paced), Full: seconds(c.Full), Waited: seconds(c.Waited),
		})
	}
	if len(w.Providers) == 0 && len(w.Retries) == 0 && w.OtherRuns == 0 {
		return nil
	}
	return w
}

// seconds are those that a person reads: to the millisecond.
func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// longWait is from when on a wait is shown while it lasts.
const longWait = 3 * time.Second

// waitingFor tells what the run waits for now, where it has waited long or will.
func (e *engine) waitingFor(now time.Time) []staging.Waiting {
	var all []staging.Waiting
	for _, w := range e.completions.Waiting() {
		if w.Why == completion.WaitsOnOthers || now.Sub(w.Since) < longWait && w.Until.Sub(now) < longWait {
			continue // those that are under way are the provider's own time
		}
		all = append(all, staging.Waiting{
			Provider: w.Provider, Requests: w.Requests, Why: string(w.Why), Since: w.Since.UTC().Round(time.Millisecond), Until: w.Until.UTC().Round(time.Millisecond), Said: clip(w.Said, waitSaidKept),
		})
	}
	return all
}

// waitSaidKept bounds what is shown of what a provider said.
const waitSaidKept = 300

// tellWaits lets other processes see what this run waits for.
func (e *engine) tellWaits(now time.Time) {
	waits := e.waitingFor(now)
	if slices.Equal(waits, e.waitsTold) {
		return
	}
	e.waitsTold = waits
	e.store.Waits(waits)
}
