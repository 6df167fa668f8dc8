package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/penstock-run/penstock/plugins/proto"
	"github.com/penstock-run/penstock/plugins/sdk"
)

const (
	mostError  = 64 << 10 // of a body that tells what is wrong
	mostAnswer = 64 << 20 // of any body: what a message of the plugin protocol may hold
)

// Server is where a provider block calls.
type Server struct {
	base   string
	header http.Header
	stall  time.Duration
	client *http.Client
	now    func() time.Time
}

// NewServer calls below base, an address without a query, with these headers in
// each request. A server that sends nothing for as long as stall has stalled.
func NewServer(base string, header http.Header, stall time.Duration) *Server {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 256 // a provider's concurrency decides, not a pool
	return &Server{
		base: strings.TrimRight(base, "/"), header: header, stall: stall, now: time.Now,
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Answer is a server's answer with a status of success. Close it.
type Answer struct {
	header http.Header
	body   io.Reader
	close  func()
	now    func() time.Time
	begun  bool // something of the answer has come
}

// Read reads the body. Its errors are *sdk.ProviderError but for io.EOF.
func (a *Answer) Read(p []byte) (int, error) { return a.body.Read(p) }

// Close lets go of the connection.
func (a *Answer) Close() { a.close() }

// Complain is what an error inside an answer means. One that comes after
// something of the answer may leave what was written on the bill.
func (a *Answer) Complain(c Complaint) *sdk.ProviderError {
	e := c.Err(http.StatusOK, a.header, a.now())
	if a.begun {
		e.Billed = sdk.PerhapsBilled
	}
	return e
}

// Events are the events of the answer's stream.
func (a *Answer) Events() iter.Seq2[Event, error] { return eachOf(a, Events(a)) }

// Lines are the lines of the answer, of which an empty one is no part.
func (a *Answer) Lines() iter.Seq2[[]byte, error] { return eachOf(a, Lines(a)) }

// eachOf notes that the answer has begun when a second piece of it is asked for.
func eachOf[T any](a *Answer, pieces iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for piece, err := range pieces {
			if !yield(piece, err) {
				return
			}
			a.begun = true
		}
	}
}

// requestID is the server's own name of a call; empty where it gives none.
func requestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "X-Goog-Request-Id"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// Post sends a JSON document to a path below the server's base and gives the
// answer as soon as its status is there. Whatever else comes of it is a
// *sdk.ProviderError.
func (s *Server) Post(ctx context.Context, path string, document []byte) (*Answer, error) {
	watched, watch := s.watch(ctx)
	var sent atomic.Bool // there is a connection for it; a dial may go on after the call has ended
	traced := httptrace.WithClientTrace(watched, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	request, err := http.NewRequestWithContext(traced, http.MethodPost, s.base+path, bytes.NewReader(document))
	if err != nil {
		watch.end()
		return nil, sdk.InvalidRequest("%s%s is no address of a server", s.base, path)
	}
	request.Header = s.header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream, application/x-ndjson")
	response, err := s.client.Do(request)
	if err != nil {
		failed := s.failure(watched, err)
		watch.end()
		failed.Billed = sdk.PerhapsBilled
		if !sent.Load() {
			failed.Billed = sdk.NotBilled
		}
		return nil, failed
	}
	watch.reset()
	body := &body{server: s, ctx: watched, watch: watch, from: response.Body}
	answer := &Answer{header: response.Header, body: body, now: s.now, close: func() { response.Body.Close(); watch.end() }}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return answer, nil
	}
	defer answer.Close()
	text, _ := io.ReadAll(io.LimitReader(body, mostError)) // what came of it is told; the status says enough
	return nil, s.found(refusal(response.StatusCode, response.Header, text, s.now()), path)
}

// found adds to an error of something that is not there where it was looked for:
// most often the address is wrong, and only seldom the model. Neither a base nor a
// path has a place for a user or a query.
func (s *Server) found(e *sdk.ProviderError, path string) error {
	if e.Kind == proto.ProviderError_NOT_FOUND {
		e.Message = fmt.Sprintf("%s; %s%s was asked: look at base_url and model", strings.TrimRight(e.Message, ".:"), s.base, path)
	}
	return e
}

// failure is what a call came to that got no answer, or not all of one. The
// request's address is left out: the user's own part of it may be a secret.
func (s *Server) failure(ctx context.Context, err error) *sdk.ProviderError {
	var stalled *stalledError
	var name *net.DNSError
	var cert *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var in *url.Error
	if errors.As(err, &in) {
		err = in.Err
	}
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &stalled):
		return sdk.Timeout("%v", stalled)
	case errors.Is(cause, context.DeadlineExceeded):
		return sdk.Timeout("the deadline of the visit passed before the answer was whole")
	case cause != nil:
		return sdk.Unavailable("the request was cancelled")
	case errors.As(err, &cert):
		return sdk.Auth("the server at %s cannot prove who it is: %v", s.host(), cert.Err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return sdk.NotFound("the server at %s speaks http, not https: write http:// in base_url", s.host())
	case errors.As(err, &plain):
		return sdk.NotFound("the server at %s does not speak https: look at the scheme and the port of base_url", s.host())
	case errors.As(err, &name) && name.IsNotFound:
		return sdk.Unavailable("there is no server %s: look at base_url", name.Name)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return sdk.Unavailable("the server at %s closed the connection before its answer was whole", s.host())
	}
	return sdk.Unavailable("the server at %s cannot be reached: %v", s.host(), err)
}

func (s *Server) host() string {
	if u, err := url.Parse(s.base); err == nil {
		return u.Host
	}
	return "base_url"
}

// stalledError ends a call on which nothing has come for too long. A server that
// sends little but goes on is only slow.
type stalledError struct{ after time.Duration }

func (e *stalledError) Error() string {
	return fmt.Sprintf("the server sent nothing for %s", e.after)
}

// watcher ends a context when it was not reset for a while.
type watcher struct {
	timer  *time.Timer
	stall  time.Duration
	cancel context.CancelCauseFunc
}

func (s *Server) watch(ctx context.Context) (context.Context, *watcher) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watcher{stall: s.stall, cancel: cancel}
	w.timer = time.AfterFunc(s.stall, func() { cancel(&stalledError{s.stall}) })
	return ctx, w
}

func (w *watcher) reset() { w.timer.Reset(w.stall) }

func (w *watcher) end() {
	w.timer.Stop()
	w.cancel(nil)
}

// body reads an answer, and tells what a broken one has broken on.
type body struct {
	server *Server
	ctx    context.Context
	watch  *watcher
	from   io.Reader
	read   int
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if n > 0 {
		b.watch.reset()
	}
	if b.read += n; b.read > mostAnswer {
		return n, sdk.Unavailable("the answer is longer than %d MiB", mostAnswer>>20)
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	failed := b.server.failure(b.ctx, err)
	failed.Billed = sdk.PerhapsBilled
	return n, failed
}
