package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/staging"
)

// VisitCompletions are the answers of a model that one visit was given.
type VisitCompletions struct {
	Pass        int               `json:"pass"`
	State       VisitState        `json:"state"`
	Action      dag.Digest        `json:"action,omitzero"`
	Run         string            `json:"run,omitempty"` // that made the visit
	Completions []CompletionFacts `json:"completions"`   // in the order in which they came
}

// CompletionFacts is what is kept of one answer.
type CompletionFacts struct {
	Number       int               `json:"number"`                  // from 1, over all visits of the stage on the item
	Sample       int               `json:"sample,omitzero"`         // of a stage with samples, from 0
	Origin       string            `json:"origin"`                  // live, cache or cassette; of the last two nothing was paid
	Asked        string            `json:"asked,omitempty"`         // the model that the provider block named
	Model        string            `json:"model,omitempty"`         // that answered, as the server gave its name; of a cassette, that was recorded
	FinishReason string            `json:"finish_reason,omitempty"` // stop, length, refusal or content_filter
	Refusal      string            `json:"refusal,omitempty"`       // what the model said in place of an answer
	RequestID    string            `json:"request_id,omitempty"`    // the server's own name of the call
	MaxTokens    *int64            `json:"max_tokens,omitempty"`    // that the answer was allowed to have; absent: the request did not say
	Usage        *completion.Usage `json:"usage,omitempty"`         // in tokens; absent: the server told none
	Notes        []string          `json:"notes,omitempty"`         // of the provider
	Text         string            `json:"text"`                    // what the model wrote
	WireSchema   jsontext.Value    `json:"wire_schema,omitempty"`   // of the answer, as the server got it; absent: as it was asked for, or none

	Request dag.Digest `json:"request,omitzero"` // artifact: what was asked
	Answer  dag.Digest `json:"answer,omitzero"`  // artifact: all of this
	Raw     dag.Digest `json:"raw,omitzero"`     // artifact: the server's own bytes, which --raw prints; absent: none are kept
	Gone    bool       `json:"gone,omitzero"`    // nothing of it is left in staging
}

// Completions tells of the answers that each visit of a stage on an item's latest
// trail was given.
func Completions(store *staging.Store, dir, stage, key string) ([]VisitCompletions, error) {
	p, err := recall(store, dir, key)
	if err != nil {
		return nil, err
	}
	t := p.member(p.last()).Trail
	if err := p.knows(stage, t); err != nil {
		return nil, err
	}
	if t == nil {
		return nil, nil
	}
	var all []VisitCompletions
	number := 0
	for i := range t.Visits {
		v := &t.Visits[i]
		if v.Stage != stage {
			continue
		}
		visit := VisitCompletions{Pass: v.Pass, State: stateOf(v), Action: v.Action, Completions: []CompletionFacts{}}
		actions, err := samplesOf(store, v)
		if err != nil {
			return nil, err
		}
		for sample, a := range actions {
			visit.Run = a.Run
			for k := range a.Completions {
				number++
				f := completionFacts(store, &a.Completions[k])
				f.Number, f.Sample = number, sample
				visit.Completions = append(visit.Completions, f)
			}
		}
		all = append(all, visit)
	}
	return all, nil
}

// samplesOf finds the actions of a visit: of a stage with samples there are
// several, of which the trail names the first.
func samplesOf(store *staging.Store, v *dag.Visit) ([]*staging.Action, error) {
	var all []*staging.Action
	digest := v.Action
	for !digest.IsZero() {
		a, ok, err := store.Action(digest)
		if err != nil || !ok {
			return all, err
		}
		all = append(all, a)
		digest = dag.ActionDigest(a.Recipe, a.Input, len(all))
	}
	return all, nil
}

func completionFacts(store *staging.Store, c *dag.Completion) CompletionFacts {
	f := CompletionFacts{Origin: c.Origin, Request: c.Request, Answer: c.Answer, Raw: c.Raw}
	document, err := store.Get(c.Answer)
	if err != nil {
		f.Gone = true
		return f
	}
	a, err := completion.ReadAnswer(document)
	if err != nil {
		f.Gone = true
		return f
	}
	f.Asked, f.Model, f.FinishReason, f.Refusal, f.RequestID = a.Asked, a.Model, a.FinishReason, a.Refusal, a.RequestID
	f.MaxTokens, f.Usage, f.Notes, f.Text = a.MaxTokens, a.Usage, a.Notes, a.Text
	if !c.Schema.IsZero() {
		if schema, err := store.Get(c.Schema); err == nil {
			f.WireSchema = schema
		}
	}
	return f
}

// RawCompletion gives the server's own bytes of one answer, by its number.
func RawCompletion(store *staging.Store, visits []VisitCompletions, number int) ([]byte, error) {
	for _, v := range visits {
		i := slices.IndexFunc(v.Completions, func(f CompletionFacts) bool { return f.Number == number })
		switch {
		case i < 0:
			continue
		case v.Completions[i].Raw.IsZero():
			return nil, fmt.Errorf("answer %d came from the %s, which holds no bytes of a server", number, v.Completions[i].Origin)
		}
		document, err := store.Get(v.Completions[i].Raw)
		if err != nil {
			return nil, fmt.Errorf("the bytes of answer %d are gone from staging", number)
		}
		return completion.RawBytes(document)
	}
	count := 0
	for _, v := range visits {
		count += len(v.Completions)
	}
	return nil, fmt.Errorf("there is no answer %d: the stage was given %d for this item", number, count)
}

// FindCompletionDocument completes the start of a digest that names what is kept
// of a completion.
func FindCompletionDocument(store *staging.Store, start string) (found dag.Digest, ok bool, err error) {
	err = store.Actions(func(a *staging.Action) bool {
		for i := range a.Completions {
			for _, d := range a.Completions[i].Documents() {
				if strings.HasPrefix(d.String(), start) {
					found, ok = d, true
					return false
				}
			}
		}
		return true
	})
	return found, ok, err
}
