package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/penstock-run/penstock/dag"
)

// maxWait is the longest that a server may make itself waited for.
const maxWait = 30 * time.Second

// outcome is what an attempt means.
type outcome struct {
	verdict dag.PageVerdict // if nothing more is tried
	why     string
	text    string

	again bool          // another attempt may help
	asked bool          // the answer says how long to wait before it
	wait  time.Duration // where asked
	whole bool          // another attempt without a range may help

	silent bool // no server spoke: name, route, connection, TLS, time
}

func dead(format string, args ...any) outcome {
	return outcome{verdict: dag.PageDead, why: fmt.Sprintf(format, args...)}
}

func blocked(format string, args ...any) outcome {
	return outcome{verdict: dag.PageBlocked, why: fmt.Sprintf(format, args...)}
}

// outcome is the table of verdicts. What is not in it is dead.
func (t *trip) outcome(first *target, timeout time.Duration, now time.Time) outcome {
	if t.err != nil {
		o := trouble(t.err, timeout)
		if o.again && t.last != nil && len(t.last.body.bytes) > 0 {
			o.why += ", after the first bytes of the page"
		}
		return o
	}
	a := t.last
	if found(a.status) {
		return a.content(first)
	}
	var o outcome
	switch a.status {
	case 401, 402, 403, 407, 451, 999: // 999 is what one large site says for 403
		o = blocked("status %d", a.status)
	case 408, 425, 500, 502, 503, 504:
		o = dead("status %d", a.status)
		o.again = true
	case 429:
		o = blocked("status %d", a.status)
		o.again = true
	case 416:
		o = dead("status %d", a.status)
		o.whole = true
	default:
		o = dead("status %d", a.status)
	}
	if wall := a.challenge(); wall != "" {
		return blocked("%s, with status %d", wall, a.status)
	}
	o.wait, o.asked = retryAfter(a.header, now)
	return o
}

// content judges an answer that says that the page is there.
func (a *answer) content(first *target) outcome {
	if wall := a.challenge(); wall != "" {
		return blocked("%s", wall)
	}
	if wall := a.consent(); wall != "" {
		return blocked("%s", wall)
	}
	if blank(a.body.bytes) {
		return dead("status %d with an empty body", a.status)
	}
	if first.deep() && a.from.root() {
		return dead("it redirects to the front page of %s", a.from.url.Host)
	}
	v := a.view()
	if says := v.notFound(); says != "" {
		return dead("the page says that there is none: %q", says)
	}
	return outcome{verdict: dag.PageLive, text: v.text}
}

// blank reports whether nothing stands in a body but white space.
func blank(b []byte) bool {
	for _, mark := range []string{"\xef\xbb\xbf", "\xfe\xff", "\xff\xfe"} {
		if rest, ok := bytes.CutPrefix(b, []byte(mark)); ok {
			b = rest
			break
		}
	}
	return len(bytes.Trim(b, "\x00\t\n\v\f\r ")) == 0
}

// trouble says what an error of the way means. Time and broken connections may be
// better in a moment; a name that does not exist, a certificate and an address
// that is refused will not.
func trouble(err error, timeout time.Duration) outcome {
	var lookup *lookupError
	var handshake *tlsError
	var slow net.Error
	silent := func(again bool, format string, args ...any) outcome {
		o := dead(format, args...)
		o.again, o.silent = again, true
		return o
	}
	switch {
	case errors.Is(err, errRefused):
		var r *refusal
		errors.As(err, &r) // without what the layers above say of the connection
		return dead("%s", r.why)
	case errors.As(err, &lookup) && lookup.none:
		return silent(false, "%s", lookup)
	case errors.As(err, &lookup):
		return silent(true, "%s", lookup)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return silent(true, "it took too long (%s at most)", timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		return silent(true, "the connection was refused")
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return silent(true, "there is no route to the host")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return silent(true, "the connection broke off")
	case errors.As(err, &handshake):
		return silent(false, "%s", handshake)
	case errors.Is(err, errCoding):
		return dead("%s", err)
	}
	said := err.Error()
	for _, layer := range []string{"net/http: ", "HTTP/1.x transport connection broken: ", "net/http: "} {
		said = strings.TrimPrefix(said, layer)
	}
	return dead("the answer is not usable as HTTP: %s", said)
}

// retryAfter reads how long a server asks to be left alone, 30 s at most. A date
// that is past is no wait; what is neither seconds nor a date is not there.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseUint(value, 10, 32)
		if err != nil { // more seconds than fit
			return maxWait, true
		}
		return min(time.Duration(seconds)*time.Second, maxWait), true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxWait), true
}
