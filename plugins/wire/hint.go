package wire

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// hint is how long a server wants to be left alone; 0 where it does not say. Its
// body goes first where it names a wait, then the headers by how exact they are.
func hint(header http.Header, c Complaint, now time.Time) time.Duration {
	if seconds, ok := strings.CutSuffix(c.retry, "s"); ok {
		if d, ok := count(seconds, time.Second); ok && d > 0 {
			return d
		}
	}
	if d, err := time.ParseDuration(c.retry); err == nil && d > 0 {
		return d
	}
	if d, ok := count(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	if at := strings.TrimSpace(header.Get("Retry-After")); at != "" {
		if d, ok := count(at, time.Second); ok {
			return d
		}
		if t, err := http.ParseTime(at); err == nil {
			return max(0, t.Sub(clock(header, now)))
		}
	}
	return resets(header, now)
}

// clock is the server's own time, by which it names dates.
func clock(header http.Header, now time.Time) time.Time {
	if t, err := http.ParseTime(header.Get("Date")); err == nil {
		return t
	}
	return now
}

// count is a number of units. One that no duration holds is as long as a wait can
// be, longer than anybody waits: it was meant to be long.
func count(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	const most = 100 * 365 * 24 * time.Hour
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), math.IsNaN(n), n < 0:
		return 0, false
	case n > float64(most/unit):
		return most, true
	}
	return time.Duration(n * float64(unit)), true
}

// resets is the longest wait for a limit of which nothing remains.
func resets(header http.Header, now time.Time) time.Duration {
	var wait time.Duration
	for name, values := range header {
		what, ok := strings.CutPrefix(name, "X-Ratelimit-Remaining-")
		reset := "X-Ratelimit-Reset-" + what
		if !ok {
			if what, ok = strings.CutPrefix(name, "Anthropic-Ratelimit-"); !ok {
				continue
			}
			if what, ok = strings.CutSuffix(what, "-Remaining"); !ok {
				continue
			}
			reset = "Anthropic-Ratelimit-" + what + "-Reset"
		}
		if len(values) == 0 || strings.TrimSpace(values[0]) != "0" {
			continue
		}
		at := header.Get(reset)
		if d, err := time.ParseDuration(at); err == nil {
			wait = max(wait, d)
		} else if t, err := time.Parse(time.RFC3339, at); err == nil {
			wait = max(wait, t.Sub(clock(header, now)))
		}
	}
	return wait
}
