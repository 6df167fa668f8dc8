package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
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

func TestALineThatIsNotUTF8IsAnError(t *testing.T) {
	for body, want := range map[string]string{
		"data: \"h\xe9\"\n\n":  "data: \"h\xe9\"",
		"one\n\xff\xfe\ntwo\n": "\xff\xfe",
		"one\n\xe2\x82\xac\n":  "",
	} {
		var got error
		for _, err := range Lines(iotest.OneByteReader(strings.NewReader(body))) {
			got = err
		}
		if want == "" && got != nil || want != "" && (got == nil || got.Error() != Garbled([]byte(want)).Error()) {
			t.Errorf("%q: got %v, want the line %q refused", body, got, want)
		}
	}
}
