package main

import (
	"fmt"
	"strings"

	"github.com/penstock-run/penstock/internal/engine"
)

// paid tells where the figure of a visit's cost is from, and what of it is not as
// the server counted.
func (w whyWriter) paid(v *engine.VisitFacts) {
	var words []string
	if v.Price != "" {
		words = append(words, "priced by the "+v.Price)
	}
	if v.Estimated > 0 {
		words = append(words, fmt.Sprintf("%d of %s estimated", v.Estimated, count(v.Attempts, "attempt", "attempts")))
	}
	if v.Unpriced > 0 {
		words = append(words, fmt.Sprintf("%d of %s without a price", v.Unpriced, count(v.Attempts, "attempt", "attempts")))
	}
	if len(words) > 0 && v.State != engine.VisitReplayed {
		w.line("%s", strings.Join(words, ", "))
	}
}

// answers lists a visit's completions; one alone is told by the visit's own line.
func (w whyWriter) answers(list []engine.Answered) {
	if len(list) < 2 {
		return
	}
	for i := range list {
		a := &list[i]
		if a.Gone {
			w.line("answer %d, %s: nothing of it is left in staging", i+1, a.Origin)
			continue
		}
		words := answered(&engine.CompletionFacts{Origin: a.Origin, Asked: a.Asked, Model: a.Model, FinishReason: a.FinishReason, RequestID: a.RequestID, Usage: a.Usage})
		if a.Usage == nil {
			words = append(words, "tokens unknown")
		}
		w.line("answer %d, %s: %s", i+1, a.Origin, strings.Join(words, ", "))
	}
}
