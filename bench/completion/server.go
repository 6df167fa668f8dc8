package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

// server answers chat completions on loopback, each with another text.
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
	time.Sleep(s.think)
	number := strconv.FormatInt(s.answers.Add(1), 10)
	text := number + " " + strings.Repeat("a", size-len(number)-1)
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

// ask is one request of the plain client: its answer is read and thrown away.
func ask(client *http.Client, address string, body []byte) error {
	response, err := client.Post(address, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || n < size {
		return errors.New("the server answered " + response.Status)
	}
	return nil
}
