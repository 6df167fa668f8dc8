package gate

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
)

// single is a sample as one check alone.
func (s sample) single(t *testing.T, kind dag.CheckKind) Single {
	t.Helper()
	out := Single{Kind: kind, Args: map[string]jsontext.Value{}, Schema: s.check.Schema, Visits: s.facts, Pages: allLive{}}
	if err := json.Unmarshal([]byte(s.item), &out.Args); err != nil {
		t.Fatal(err)
	}
	for name, e := range s.check.Args {
		doc, err := e.Doc(constants{})
		if err != nil {
			t.Fatal(err)
		}
		out.Args[name] = doc.Bytes
	}
	if s.check.Stage != nil {
		out.Args["stage"], _ = json.Marshal(s.check.Stage.Name)
	}
	if s.check.Of != nil {
		var names []string
		for _, stage := range s.check.Of {
			names = append(names, stage.Name)
		}
		out.Args["of"], _ = json.Marshal(names)
	}
	if s.input != "" {
		out.Documents = []dag.Doc{dag.NewDoc([]byte(s.input))}
	}
	return out
}

// 12.1: every kind runs alone, and comes to what it comes to in a gate.
func TestSingle(t *testing.T) {
	for kind, s := range samples(t) {
		if info, _ := dag.LookupCheck(kind); !info.Supported {
			continue
		}
		one := s.single(t, kind)
		got, err := RunCheck(t.Context(), one)
		if err != nil || got.State != "held" || got.Kind != kind {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
		// A record of the corpus that is the same is what no locked check lets pass.
		if info, _ := dag.LookupCheck(kind); info.Phase == dag.Locked {
			one.Accepted = []map[string]jsontext.Value{{"keys": jsontext.Value(`["z"]`), "text": jsontext.Value(`"Another one altogether?"`), "within": jsontext.Value(`"history"`)}, one.Args}
			got, err := RunCheck(t.Context(), one)
			if err != nil || got.State != "failed" || len(got.Details) == 0 {
				t.Errorf("%s: %+v, %v", kind, got, err)
			}
		}
	}
}

// One check alone leaves nothing behind, and what is wrong with the world is no
// answer.
func TestSingleLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	args := func(text string) map[string]jsontext.Value {
		m := map[string]jsontext.Value{}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	if _, err := RunCheck(t.Context(), Single{Kind: "words", Args: args(`{"text":"One","max":3}`)}); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		name string
		one  Single
		ctx  func(context.Context) context.Context
		kind dag.Kind
	}{
		{"a kind that is none", Single{Kind: "nice"}, nil, dag.KindConfig},
		{"an argument that no candidate could mend", Single{Kind: "words", Args: args(`{"text":"One","min":3,"max":2}`)}, nil, dag.KindConfig},
		{"an argument that is not there", Single{Kind: "leak", Args: args(`{"needle":"x"}`)}, nil, dag.KindConfig},
		{"a stage that is no name", Single{Kind: "fresh", Args: args(`{"stage":3,"of":1}`)}, nil, dag.KindConfig},
		{"stages that are no names", Single{Kind: "independent", Args: args(`{"stage":"a","of":[1]}`)}, nil, dag.KindConfig},
		{"a document that nobody has", Single{Kind: "fresh", Args: args(`{"stage":"a","of":1,"at":"b"}`), Visits: []dag.VisitFacts{{Stage: "a", Input: dag.Sum([]byte("x"))}}}, nil, dag.KindConfig},
		{"a record that cannot be in a corpus", Single{Kind: "unique", Args: args(`{"keys":["a"]}`), Accepted: []map[string]jsontext.Value{args(`{"keys":[]}`)}}, nil, dag.KindConfig},
		{"a context that has ended", Single{Kind: "words", Args: args(`{"text":"One"}`)}, func(ctx context.Context) context.Context {
			ended, cancel := context.WithTimeout(ctx, -time.Second)
			cancel()
			return ended
		}, dag.KindInfrastructure},
	} {
		ctx := t.Context()
		if tt.ctx != nil {
			ctx = tt.ctx(ctx)
		}
		if got, err := RunCheck(ctx, tt.one); dag.KindOf(err) != tt.kind {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
