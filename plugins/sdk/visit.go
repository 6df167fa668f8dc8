package sdk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/plugins/proto"
)

// The messages of a completion, as authors read and write them.
type (
	CompletionRequest = proto.CompletionRequest
	CompletionReply   = proto.CompletionReply
	Message           = proto.Message
	Part              = proto.Part
	Sampling          = proto.Sampling
	Usage             = proto.Usage
)

// Visit is one execution of a stage for one item.
type Visit struct {
	Key    string // the item's
	Pass   int    // how often this stage has been visited for the item, from 1
	Sample int    // number of the sample, where a stage asks for several
	Input  []byte // canonical JSON; the function may keep it, not write to it
	Schema []byte // JSON Schema of the output; empty: any JSON

	id      uint64
	handle  uint32
	session *session
	ctx     visitContext
	calls   map[uint64]chan *proto.Completed // guarded by session.mu
	result  proto.Result                     // one allocation with the visit
}

// Into decodes the input into target.
func (v *Visit) Into(target any) error {
	if err := json.Unmarshal(v.Input, target); err != nil {
		return fmt.Errorf("the input of %s: %w", v.Key, err)
	}
	return nil
}

// Complete asks the host for a completion by the stage's provider. Limits,
// retries, cache and cassette are the host's. The error is a *ProviderError, or
// the context's.
func (v *Visit) Complete(ctx context.Context, request *CompletionRequest) (*CompletionReply, error) {
	reply, err := v.session.complete(ctx, v, request)
	if err != nil {
		return nil, err
	}
	for _, e := range []*proto.ProviderError{reply.GetError(), reply.GetReply().GetError()} {
		if e != nil {
			return nil, &ProviderError{Kind: e.Kind, Message: e.Message,
				RetryAfter: time.Duration(e.RetryAfterMillis) * time.Millisecond}
		}
	}
	if reply.Reply == nil {
		return nil, errors.New("the host answered a completion with nothing")
	}
	return reply.Reply, nil
}

// Logf writes a line to the run's log, at level info, with the item's key.
func (v *Visit) Logf(format string, args ...any) {
	v.session.log(&proto.Log{Visit: v.id, Level: "info", Message: clean(fmt.Sprintf(format, args...))})
}

// Progress tells how far the visit is, from 0 to 1. It informs; it decides nothing.
func (v *Visit) Progress(fraction float64, format string, args ...any) {
	v.session.progress(&proto.Progress{Visit: v.id, Fraction: fraction, Text: clean(fmt.Sprintf(format, args...))})
}

// encode gives the bytes of an output.
func encode(output any) ([]byte, error) {
	switch o := output.(type) {
	case nil:
		return []byte("null"), nil
	case []byte:
		return o, nil
	case jsontext.Value:
		return o, nil
	}
	return json.Marshal(output)
}

// visitContext ends with its visit. It is a type of its own because the
// standard library's costs a timer, two allocations and a lock on its parent a
// visit: the host keeps the time and sends Cancel.
type visitContext struct {
	mu       sync.Mutex
	done     chan struct{} // made when somebody asks
	err      error
	deadline time.Time // zero: none
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (c *visitContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

func (c *visitContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		if c.err != nil {
			c.done = closed
		} else {
			c.done = make(chan struct{})
		}
	}
	return c.done
}

func (c *visitContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *visitContext) Value(any) any { return nil }

func (c *visitContext) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = context.Canceled
	if !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
		c.err = context.DeadlineExceeded
	}
	if c.done != nil {
		close(c.done)
	}
}
