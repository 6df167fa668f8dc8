package completion

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkReplay is one replayed completion with a prompt and a schema of 2 KB each.
func BenchmarkReplay(b *testing.B) {
	wire := userSays(strings.Repeat("Write a card about the river. ", 70))
	wire.Schema = []byte(`{"type":"object","properties":{` + strings.Repeat(`"a`, 1) + `":{"description":"` + strings.Repeat("The question, without its answer. ", 60) + `"}}}`)
	request, err := newRequest(wire, schemaDigest)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "c.jsonl")
	c := NewCassette(path)
	if err := c.Add(Entry{Request: *request, Reply: Reply{Text: "x", FinishReason: "stop"}}); err != nil {
		b.Fatal(err)
	}
	if err := c.Write(); err != nil {
		b.Fatal(err)
	}
	s, err := New(Options{Replay: path})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if reply := s.Complete(context.Background(), writer, nil, wire); reply.GetError() != nil || reply.GetOrigin() != OriginCassette {
			b.Fatal(reply)
		}
	}
}
