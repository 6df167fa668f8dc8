package completion

import (
	"fmt"
	"strings"
	"time"

	"github.com/penstock-run/penstock/plugins/proto"
)

// The figures of waiting; docs/providers.md tells them.
const (
	firstPause     = time.Second
	longestPause   = 30 * time.Second
	defaultMaxWait = time.Minute
	patience       = 10 * time.Minute // without one answer, of a provider that refuses
	failuresToOpen = 8                // calls without an answer in a row
	failuresToShut = failuresToOpen + 6
	worthTelling   = 3 * time.Second
)

// trouble is a time in which a provider answers nothing: from the first call that
// it refused, or the last of a row that failed, to the next answer. One call at a
// time is sent then, each after a pause.
type trouble struct {
	level int       // pauses so far; 0: there is no trouble
	since time.Time // of the first
	until time.Time // before it no call goes
	kind  proto.ProviderError_Kind
	said  string // by the provider, last
	told  bool
}

// pause is how long a provider is left alone after so many calls in vain: 1, 2, 4,
// 8, 16 and then 30 seconds. Where it names a time, that is kept; but a time that
// has proved too short before is not believed beyond the pause before it.
func pause(level int, hint time.Duration) time.Duration {
	if hint > 0 {
		level--
	}
	if level == 0 {
		return hint
	}
	return max(hint, min(longestPause, firstPause<<min(level-1, 10)))
}

// worse begins a trouble's next pause. Jitter only makes it longer, by a tenth at
// most: callers of several machines part, and how many calls go in a minute stays
// what the policy says.
func (l *limiter) worse(now time.Time, hint time.Duration, kind proto.ProviderError_Kind, said string) {
	t := &l.trouble
	t.level++
	if t.level == 1 {
		t.since = now
		l.waits.counts.Troubles++
	}
	t.kind, t.said, l.mark = kind, said, l.sent
	wait := pause(t.level, hint)
	t.hold(now.Add(wait + l.jitter(wait/10)))
	if capacity(kind) && t.until.Sub(t.since) > l.patience {
		l.close(time.Time{}, kind, fmt.Sprintf("%s; provider %s has refused every call for %s, and no longer than %s is waited (`patience` of its limits): nothing more is asked of it in this run, run again later",
			said, l.name, Brief(now.Sub(t.since)), Brief(l.patience)))
		return
	}
	rest := t.until.Sub(now)
	if rest < worthTelling {
		return
	}
	verb := "refuses calls"
	if !capacity(kind) {
		verb = fmt.Sprintf("does not answer, %d calls in a row", l.failures)
	}
	if t.told {
		verb += ", for " + Brief(now.Sub(t.since))
	}
	t.told = true
	l.say("provider %s %s (%s): the next call goes in %s, at %s", l.name, verb, said, Brief(rest), moment(t.until, now))
}

// hold keeps every call back until then: what a provider says to one call it says
// to its caller, and the longest of what it says to several at once counts.
func (t *trouble) hold(until time.Time) {
	if until.After(t.until) {
		t.until = until
	}
}

// refused hears of a call that the provider has no room for.
func (l *limiter) refused(now time.Time, number uint64, hint time.Duration, e *proto.ProviderError) {
	l.failures = 0
	l.waits.counts.Refused++
	l.window.lower(number, l.sent, l.trouble.level > 0)
	switch {
	case hint > l.maxWait:
		l.tooLong(now, hint, e)
	case number > l.mark:
		l.worse(now, hint, e.GetKind(), e.GetMessage())
	case hint > 0:
		l.trouble.hold(now.Add(hint + l.jitter(hint/10)))
	}
}

// failed hears of a call that got no answer. Whose it was tries again as its
// stage says; here it counts towards leaving the provider alone.
func (l *limiter) failed(now time.Time, number uint64, hint time.Duration, e *proto.ProviderError) {
	l.waits.counts.Unanswered++
	if e.GetKind() == proto.ProviderError_TIMEOUT {
		l.window.lower(number, l.sent, l.trouble.level > 0)
	}
	switch {
	case hint > l.maxWait:
		l.tooLong(now, hint, e)
		return
	case hint > 0:
		l.trouble.hold(now.Add(hint))
	}
	if number <= l.mark && l.trouble.level > 0 {
		return // sent before the trouble was known
	}
	l.failures++
	switch {
	case l.failures >= failuresToShut:
		since := ""
		if l.trouble.level > 0 {
			since = ", over " + Brief(now.Sub(l.trouble.since))
		}
		l.close(time.Time{}, e.GetKind(), fmt.Sprintf("%s; %d calls of provider %s in a row were not answered%s: nothing more is asked of it in this run, run again later",
			e.GetMessage(), l.failures, l.name, since))
	case l.trouble.level > 0 || l.failures >= failuresToOpen:
		l.worse(now, hint, e.GetKind(), e.GetMessage())
	}
}

// answered hears of a call that the provider took, whatever it said. One that was
// sent before the trouble does not end it.
func (l *limiter) answered(now time.Time, number uint64) {
	if l.trouble.level > 0 && number <= l.mark {
		return
	}
	l.failures = 0
	l.relieved(now, "answers again")
}

// relieved ends a trouble.
func (l *limiter) relieved(now time.Time, how string) {
	t := l.trouble
	if t.level == 0 {
		return
	}
	took := now.Sub(t.since)
	if t.told {
		l.say("provider %s %s after %s", l.name, how, Brief(took))
	}
	l.trouble = trouble{}
}

// tooLong hears of a provider that wants to be left alone for longer than a run
// waits.
func (l *limiter) tooLong(now time.Time, hint time.Duration, e *proto.ProviderError) {
	until := now.Add(hint)
	l.close(until, e.GetKind(), fmt.Sprintf("%s; provider %s asks to be left alone for %s, and no longer than %s is waited (`max_wait` of its limits): nothing more is asked of it before %s, run again then",
		e.GetMessage(), l.name, Brief(hint), Brief(l.maxWait), moment(until, now)))
}

// close ends the provider's calls, for the run or until a moment.
func (l *limiter) close(until time.Time, kind proto.ProviderError_Kind, message string) {
	l.trouble.told = false // the items say it
	l.relieved(l.clock.now(), "")
	l.shut, l.shutUntil = &proto.ProviderError{Kind: kind, Message: message}, until
}

// capacity tells refusals for want of room, which are the provider's matter, from
// errors of a call.
func capacity(kind proto.ProviderError_Kind) bool {
	return kind == proto.ProviderError_RATE_LIMITED || kind == proto.ProviderError_OVERLOADED
}

// transport tells errors of calls that got no answer.
func transport(kind proto.ProviderError_Kind) bool {
	return kind == proto.ProviderError_TIMEOUT || kind == proto.ProviderError_UNAVAILABLE
}

// Brief is a duration without what nobody reads: 250ms, 7s, 1m5s, 24h.
func Brief(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	text := d.Round(time.Second).String()
	for _, none := range []string{"m0s", "h0m"} {
		if whole, ok := strings.CutSuffix(text, none); ok {
			text = whole + none[:1]
		}
	}
	return text
}

// moment is a time of day, with its date where it is not today.
func moment(at, now time.Time) string {
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04:05")
	}
	return at.Format("2006-01-02 15:04:05 MST")
}
