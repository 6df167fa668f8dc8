package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/staging"
)

// The shortest waits that people are told of. That a provider is busy is no trouble, and
// worth a line only where it went on for long.
const (
	shownWait = time.Second
	shownFull = 10 * time.Second
)

// WaitLines tell people where the time of a run went, a line for each cause. There are
// none where nothing was waited for as long as a second, refused or tried again.
func WaitLines(w *staging.RunWaits) []string {
	if w == nil {
		return nil
	}
	var lines []string
	for _, p := range w.Providers {
		var parts []string
		if p.Refused > 0 {
			parts = append(parts, fmt.Sprintf("%d of %s refused", p.Refused, plural(p.Calls, "request", "requests")))
		}
		if p.Unanswered > 0 {
			parts = append(parts, fmt.Sprintf("%d of %s not answered", p.Unanswered, plural(p.Calls, "request", "requests")))
		}
		if long(p.Paused) {
			parts = append(parts, "left alone for "+lasted(p.Paused)+" while items waited")
		}
		if long(p.Paced) {
			parts = append(parts, "its limits a minute were waited for "+lasted(p.Paced))
		}
		if p.Full >= shownFull.Seconds() {
			parts = append(parts, "as many requests as may be were under way for "+lasted(p.Full)+" while more waited")
		}
		if len(parts) > 0 {
			lines = append(lines, "provider "+p.Provider+": "+strings.Join(parts, ", "))
		}
	}
	for _, r := range w.Retries {
		line := fmt.Sprintf("stage %s: tried again %s", r.Stage, plural(r.Retries, "time", "times"))
		if long(r.Seconds) {
			line += ", after waits of " + lasted(r.Seconds)
		}
		lines = append(lines, line)
	}
	if long(w.OtherRuns) {
		lines = append(lines, "another run had begun what was waited for: "+lasted(w.OtherRuns))
	}
	return lines
}

func long(seconds float64) bool { return seconds >= shownWait.Seconds() }

func lasted(seconds float64) string {
	return completion.Brief(time.Duration(seconds * float64(time.Second)))
}

// WaitingText tells what a run waits for at this moment.
func WaitingText(w staging.Waiting, now time.Time) string {
	why := "its limits a minute"
	switch w.Why {
	case "refused":
		why = "it refuses requests"
	case "unanswered":
		why = "it does not answer"
	}
	text := fmt.Sprintf("%s for provider %s, for %s: %s", plural(w.Requests, "request", "requests"), w.Provider, completion.Brief(max(0, now.Sub(w.Since))), why)
	if w.Said != "" {
		text += " (" + strings.Join(strings.Fields(w.Said), " ") + ")"
	}
	if left := w.Until.Sub(now); left > 0 {
		text += ", the next one goes in " + completion.Brief(left)
	}
	return text
}
