package engine

import (
	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/staging"
)

// Answered is who answered one completion of a visit, and how it ended.
type Answered struct {
	Sample       int               `json:"sample,omitzero"`         // of a stage with samples, from 0
	Origin       string            `json:"origin"`                  // live, cache or cassette; of the last two nothing was paid
	Asked        string            `json:"asked,omitempty"`         // the model that the provider block named
	Model        string            `json:"model,omitempty"`         // that answered, as the server gave its name; of a cassette, that was recorded
	FinishReason string            `json:"finish_reason,omitempty"` // stop, length, refusal or content_filter
	RequestID    string            `json:"request_id,omitempty"`    // the server's own name of the call
	Usage        *completion.Usage `json:"usage,omitempty"`         // in tokens; absent: the server told none
	Gone         bool              `json:"gone,omitzero"`           // nothing of it is left in staging
}

// answer puts beside each visit the completions that it was given.
func (w *ItemWhy) answer(store *staging.Store, t *dag.Trail) error {
	visit := 0
	for i := range w.Way {
		if w.Way[i].Visit == nil {
			continue
		}
		actions, err := samplesOf(store, &t.Visits[visit])
		if err != nil {
			return err
		}
		visit++
		for sample, a := range actions {
			for k := range a.Completions {
				f := completionFacts(store, &a.Completions[k])
				w.Way[i].Completions = append(w.Way[i].Completions, Answered{sample, f.Origin, f.Asked, f.Model, f.FinishReason, f.RequestID, f.Usage, f.Gone})
			}
		}
	}
	return nil
}
