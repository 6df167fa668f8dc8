package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// size is that of a prompt and of an answer, in bytes.
	size = 2 << 10
	// pieces is into how many an answer is cut where it streams.
	pieces = 32
)

// thought stands in an answer before how long the server thought about it, in µs.
const thought = "thought "

// server answers chat completions on loopback, each with another text.
//
// It thinks about half as long to half as long again as it is told to, each time
// another while. Calls that all took the same would stay in step: 64 of them would
// come back at once, and each would wait for the 63 others' work.
type server struct {
	think  time.Duration
	stream bool

	listener net.Listener
	http     http.Server
	answers  atomic.Int64
	calls    atomic.Int64
	request  atomic.Pointer[[]byte] // one that came, for the client to send
}

func newServer() (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{listener: listener}
	s.http.Handler = http.HandlerFunc(s.answer)
	go func() { _ = s.http.Serve(listener) }() // it ends with close
	return s, nil
}

func (s *server) close() { _ = s.http.Close() }

func (s *server) base() string { return "http://" + s.listener.Addr().String() + "/v1" }

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked has gone
	}
	s.calls.Add(1)
	if s.request.Load() == nil {
		s.request.Store(&body)
	}
	n := s.answers.Add(1)
	begun := time.Now()
	time.Sleep(s.thinks(n))
	number := strconv.FormatInt(n, 10)
	text := thought + strconv.FormatInt(time.Since(begun).Microseconds(), 10) + " " + number + " "
	text += strings.Repeat("a", size-len(text))
	const usage = `"usage":{"prompt_tokens":512,"completion_tokens":512}`
	if !s.stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c-%s","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],%s}`, number, text, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	for i := range pieces {
		fmt.Fprintf(w, "data: {\"id\":\"c-%s\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", number, text[i*size/pieces:(i+1)*size/pieces])
		if flush.Flush() != nil {
			return
		}
	}
	fmt.Fprintf(w, "data: {\"id\":\"c-%s\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],%s}\n\ndata: [DONE]\n\n", number, usage)
}

// thinks is how long it thinks about its nth answer: multiples of the golden ratio,
// less their whole part, are spread evenly, and no two that follow are near.
func (s *server) thinks(n int64) time.Duration {
	_, part := math.Modf(float64(n) * math.Phi)
	return time.Duration((0.5 + part) * float64(s.think))
}

// thoughtOf reads from an answer how long the server thought.
func thoughtOf(answer string) (micros float64, err error) {
	_, rest, ok := strings.Cut(answer, thought)
	figure, _, ended := strings.Cut(rest, " ")
	if !ok || !ended {
		return 0, errors.New("the answer does not say how long the server thought")
	}
	return strconv.ParseFloat(figure, 64)
}

// ask is one request of the plain client, which gives how long the server thought.
func ask(client *http.Client, address string, body []byte) (micros float64, err error) {
	response, err := client.Post(address, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	if response.StatusCode != http.StatusOK || len(answer) < size {
		return 0, errors.New("the server answered " + response.Status)
	}
	return thoughtOf(string(answer))
}
