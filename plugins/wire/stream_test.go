package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestEvents(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"plain", "data: a\n\ndata: b\n\n", "|a;|b;"},
		{"named", "event: e\ndata: a\n\n", "e|a;"},
		{"several lines", "data: a\ndata: b\n\n", "|a\nb;"},
		{"carriage returns", "event: e\r\ndata: a\r\n\r\n", "e|a;"},
		{"comments and other fields", ": ping\n\nid: 7\nretry: 3\ndata: a\n\n", "|a;"},
		{"no space after the colon", "data:a\n\n", "|a;"},
		{"empty data", "data:\n\n", "|;"},
		{"no empty line at the end", "data: a", "|a;"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]*strings.Reader{"whole": strings.NewReader(tt.body), "bytes": strings.NewReader(tt.body)} {
				var got strings.Builder
				for e, err := range Events(iotest.OneByteReader(r)) {
					if err != nil {
						t.Fatal(err)
					}
					got.WriteString(e.Name + "|" + string(e.Data) + ";")
				}
				if got.String() != tt.want {
					t.Errorf("%s: got %q, want %q", name, got.String(), tt.want)
				}
			}
		})
	}
	broken := errors.New("broken")
	for _, err := range Events(iotest.ErrReader(broken)) {
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
}

func TestALineThatIsCut(t *testing.T) {
	broken := errors.New("broken")
	for body, want := range map[string]string{"one\ntwo\nthr": "one;two;", "one\n": "one;", "one": "", "": ""} {
		var got strings.Builder
		for line, err := range Lines(io.MultiReader(strings.NewReader(body), iotest.ErrReader(broken))) {
			if err == nil {
				got.Write(append(line, ';'))
			} else if !errors.Is(err, broken) {
				t.Errorf("%q: %v", body, err)
			} else {
				got.WriteString("broken")
			}
		}
		if got.String() != want+"broken" {
			t.Errorf("%q: got %q, want %q and the error", body, got.String(), want)
		}
	}
}

func TestWhiteSpaceWithoutEnd(t *testing.T) {
	var g Gathered
	if !g.Add(`{"a":`) || !g.Add(strings.Repeat(" \n", mostBlank/2)) {
		t.Fatal("what may be part of an answer was not waited for")
	}
	if g.Add("\t") {
		t.Fatal("white space is waited for without end")
	}
	if r := g.Reply("stop"); r.FinishReason != "length" || len(r.Notes) != 1 {
		t.Errorf("got %v", r)
	}
	var fine Gathered
	for range mostBlank {
		if !fine.Add(" \n") || !fine.Add("x") {
			t.Fatal("white space between other text counts")
		}
	}
}

func TestWeaken(t *testing.T) {
	s := Subset{Without: []string{"minLength", "oneOfNothing"}, Closed: true, AnyOf: true}
	for _, tt := range []struct {
		schema, want string
		changes      []string
	}{
		{`{"type":"string"}`, ``, nil},
		{`{"type":"string","minLength":2}`, `{"type":"string"}`, []string{"without minLength (1)"}},
		{`{"properties":{"minLength":{"minLength":1}}}`, `{"additionalProperties":false,"properties":{"minLength":{}}}`,
			[]string{"with additionalProperties: false (1)", "without minLength (1)"}},
		{`{"oneOf":[{"minLength":1},{"type":"null"}]}`, `{"anyOf":[{},{"type":"null"}]}`, []string{"anyOf for oneOf (1)", "without minLength (1)"}},
		{`{"enum":[{"minLength":1}]}`, ``, nil},
		{`{"type":"object","additionalProperties":true}`, ``, nil},
	} {
		got, changes, err := s.Weaken([]byte(tt.schema))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.schema, got, err, tt.want)
		}
		if diff := cmp.Diff(tt.changes, changes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.schema, diff)
		}
	}
}

func TestEvery(t *testing.T) {
	closed := func(object map[string]any) bool { return object["additionalProperties"] == false }
	for schema, want := range map[string]bool{
		`{"type":"string"}`: true,
		`{"type":"object"}`: false,
		`{"type":"object","additionalProperties":false}`:                                                       true,
		`{"type":"object","additionalProperties":false,"properties":{"examples":{"items":{"type":"object"}}}}`: false,
		`{"type":"object","additionalProperties":false,"properties":{"properties":{"type":"string"}}}`:         true,
		`{"examples":[{"type":"object"}],"const":{"type":"object"}}`:                                           true,
		`{"anyOf":[{"type":"null"},{"$defs":{"a":{"type":"object"}}}]}`:                                        false,
	} {
		if got := Every([]byte(schema), closed); got != want {
			t.Errorf("%s: got %v, want %v", schema, got, want)
		}
	}
}
