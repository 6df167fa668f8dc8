package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/plugins/proto"
)

// store keeps answers in a staging folder.
type store struct{ *staging.Store }

// Get implements completion.Cache.
func (s store) Get(_ context.Context, key dag.Digest) ([]byte, dag.Completion, bool) {
	made, ok, err := s.Action(key)
	if err != nil || !ok {
		return nil, dag.Completion{}, false
	}
	b, err := s.Read(made.OutputRef, made.Output)
	return b, dag.Completion{Answer: made.Output}, err == nil
}

// Keep implements completion.Cache. One that fails shows as a second call.
func (s store) Keep(keys []dag.Digest, kept *completion.Kept) dag.Completion {
	doc := dag.NewDoc(kept.Answer)
	ref, err := s.Put(doc)
	if err != nil {
		return dag.Completion{}
	}
	for _, key := range keys {
		_ = s.PutAction(&staging.Action{Digest: key, Stage: "completion", Output: doc.Digest, OutputRef: ref})
	}
	return dag.Completion{Answer: doc.Digest}
}

// lookUps gives the median of what the service takes for a cached answer, in µs:
// the request's key, the store's look-up and its verified read, the answer's parse.
func lookUps(dir string, n int) (float64, error) {
	kept, err := staging.Open(filepath.Join(dir, "look-ups"), staging.Options{RunID: "bench"})
	if err != nil {
		return 0, err
	}
	defer kept.Close()
	service, err := completion.New(completion.Options{Cache: store{kept}})
	if err != nil {
		return 0, err
	}
	provider := &dag.Provider{Name: "model", Plugin: &dag.Plugin{Name: "model", Source: "builtin/openai"}, Model: "m"}
	calls := 0
	caller := func(_ context.Context, r *proto.CompletionRequest) (*proto.CompletionReply, error) {
		calls++
		return &proto.CompletionReply{Text: r.Messages[0].Parts[0].Text, FinishReason: "stop", Model: "m", RequestId: strconv.Itoa(calls), Usage: &proto.Usage{Input: 512, Output: 512}}, nil
	}
	complete := func(i int) (time.Duration, error) {
		number := strconv.Itoa(i)
		text := number + " " + strings.Repeat("q", size-len(number)-1)
		request := &proto.CompletionRequest{Messages: []*proto.Message{{Role: "user", Parts: []*proto.Part{{Type: "text", Text: text}}}}}
		begun := time.Now()
		reply := service.Complete(context.Background(), provider, caller, request)
		took := time.Since(begun)
		if e := reply.GetError(); e != nil {
			return 0, fmt.Errorf("%s", e.GetMessage())
		}
		return took, nil
	}
	for i := range n {
		if _, err := complete(i); err != nil {
			return 0, err
		}
	}
	if err := kept.Flush(); err != nil {
		return 0, err
	}
	each := make([]float64, n)
	for i := range n {
		took, err := complete(i)
		if err != nil {
			return 0, err
		}
		each[i] = micros(took)
	}
	if calls != n {
		return 0, fmt.Errorf("%d of %d answers were in the cache", 2*n-calls, n)
	}
	return median(each), nil
}
