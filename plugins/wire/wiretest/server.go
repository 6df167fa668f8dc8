package wiretest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Fault is what goes wrong in the middle of an answer.
type Fault int

// Faults of an answer.
const (
	None     Fault = iota
	Event          // an error is told inside the stream
	Unmarked       // the stream ends without its end mark
	Cut            // the connection ends within a chunk
	Reset          // the connection ends before anything came
	Stall          // nothing more comes, and the connection stays
)

// Step is what the server does with one request.
type Step struct {
	Text     string
	Thoughts string // before the text
	Finish   string // "stop" (or empty), "length", "refusal", "refusal, cut off", "content_filter"
	Model    string // empty: "served-1"
	Usage    *Usage // nil: none is told
	Pieces   int    // of the text in a stream; 0: three

	Fault Fault
	After int  // pieces before the fault
	Whole bool // the answer comes in one piece although a stream was asked for
	Bytes bool // the stream comes a byte at a time

	Status int         // of a refusal; 0: the answer is given
	Header http.Header // besides
	Body   string      // in place of all else that the step would send
}

// Usage is what the server says that a call has cost, in the words of the plugin
// protocol: parts are within the whole.
type Usage struct{ Input, CacheRead, CacheWrite, Output, Reasoning int64 }

// Request is what the server was asked.
type Request struct {
	Path   string // with the query
	Header http.Header
	Body   map[string]any
}

// Server answers by a script, in the wire that the path of a request names. A schema
// that the vendor's server would refuse is refused, whatever the script says.
type Server struct {
	URL string

	t     TB
	step  func(n int, r Request) Step
	mu    sync.Mutex
	asked []Request
	done  chan struct{} // closed when the test is over: those that stall may go
}

// TB is what the server needs of a test.
type TB interface {
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Serve starts a server that does one step a request, the last one for ever.
func Serve(t TB, steps ...Step) *Server {
	return ServeFunc(t, func(n int, _ Request) Step { return steps[min(n, len(steps)-1)] })
}

// ServeFunc starts a server that does with each request, counted from 0, what a
// function says. The function is called by several goroutines at once.
func ServeFunc(t TB, step func(n int, r Request) Step) *Server {
	s := &Server{t: t, step: step, done: make(chan struct{})}
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(func() {
		close(s.done)
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// Asked are the requests so far.
func (s *Server) Asked() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.asked...)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller went away
	}
	request := Request{Path: r.URL.RequestURI(), Header: r.Header.Clone()}
	if err := json.Unmarshal(body, &request.Body); err != nil {
		s.t.Errorf("%s was asked with what is no JSON object: %s", r.URL.Path, body)
	}
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, request)
	s.mu.Unlock()
	step := s.step(n, request)
	speaker := speakerOf(r.URL.Path)
	if speaker == nil {
		http.NotFound(w, r)
		return
	}
	if refused := Taste(request); refused != "" {
		step = Step{Status: http.StatusBadRequest, Body: encode(object{"error": object{"message": "Invalid schema: " + refused}})}
	}
	for name, values := range step.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	switch {
	case step.Fault == Reset:
		hangUp(w)
	case step.Status != 0 || step.Body != "":
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(max(step.Status, http.StatusOK))
		io.WriteString(w, step.Body)
	case step.Whole || !streamed(r.URL.Path, request.Body):
		w.Header().Set("Content-Type", "application/json")
		write(w, speaker.whole(step))
	default:
		s.stream(w, speaker, step)
	}
}

// streamed tells whether a request asks for a stream.
func streamed(path string, body map[string]any) bool {
	return strings.Contains(path, ":streamGenerateContent") || body["stream"] == true
}

func (s *Server) stream(w http.ResponseWriter, speaker speaker, step Step) {
	w.Header().Set("Content-Type", speaker.contentType())
	start, pieces, end := speaker.stream(step)
	send := func(lines string) {
		if !step.Bytes {
			io.WriteString(w, lines)
			w.(http.Flusher).Flush()
			return
		}
		for i := range len(lines) {
			io.WriteString(w, lines[i:i+1])
			w.(http.Flusher).Flush()
		}
	}
	send(start)
	for i, piece := range pieces {
		if step.Fault != None && i == step.After {
			break
		}
		send(piece)
	}
	switch step.Fault {
	case None:
		send(end)
	case Event:
		send(speaker.failure())
	case Cut:
		send(end[:len(end)/3])
		hangUp(w)
	case Stall:
		<-s.done
	}
}

// hangUp ends the connection as a crash would.
func hangUp(w http.ResponseWriter) {
	w.(http.Flusher).Flush()
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

func write(w io.Writer, document any) {
	b, err := json.Marshal(document)
	if err != nil {
		panic(err) // of maps that are written in this package
	}
	w.Write(b)
}

// split cuts a text into pieces, at characters.
func split(step Step) []string {
	n := step.Pieces
	if n == 0 {
		n = 3
	}
	runes := []rune(step.Text)
	var pieces []string
	for i := range n {
		pieces = append(pieces, string(runes[len(runes)*i/n:len(runes)*(i+1)/n]))
	}
	return pieces
}
