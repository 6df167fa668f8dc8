package trial

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/internal/lang"
)

// edit is a value that would make an expectation hold.
type edit struct {
	want  *lang.Want // nil: attributes that are added
	place lang.Place
	text  string
}

// propose keeps the value that was found, where it is one.
func (t *trial) propose(w *lang.Want, got map[string]bool) {
	if len(got) != 1 {
		t.result.stuck = append(t.result.stuck, Failure{At: w.At, What: what(w), Message: "its items came to different values, so none of them was written"})
		return
	}
	for value := range got {
		if w.Name == "record" && value != "null" {
			literal, err := lang.LiteralDocument([]byte(value))
			if err != nil {
				t.result.stuck = append(t.result.stuck, Failure{At: w.At, What: what(w), Message: err.Error()})
				return
			}
			value = literal
		}
		t.result.edits = append(t.result.edits, edit{w, w.At, value})
	}
}

// fill proposes what an expect block that expects nothing could expect.
func (t *trial) fill(x *lang.Expect, items []*item) {
	if len(x.Wants)+len(x.Asserts) > 0 || len(items) == 0 {
		return
	}
	text := ""
	for _, name := range []string{"route", "end", "codes", "status"} {
		w := &lang.Want{Name: name}
		value := items[0].value(w)
		same := !slices.ContainsFunc(items, func(it *item) bool { return it.value(w) != value })
		if same && value != "null" && value != "[]" {
			text += fmt.Sprintf("\n%s = %s", name, value)
		}
	}
	if text == "" {
		t.result.stuck = append(t.result.stuck, Failure{At: x.At, What: "expect", Message: "the items agree in nothing, so nothing was written"})
		return
	}
	t.result.edits = append(t.result.edits, edit{nil, lang.Place{File: x.At.File, Line: x.At.Line, Start: x.Body, End: x.Body}, text + "\n"})
}

// Rewrite gives the text of a test file with the values that the tests found in
// the place of those that they expected, and what could not be written; the
// failures that it mends are marked as written. A condition is never changed.
func Rewrite(name string, src []byte, results []*Result) (out []byte, kept []Failure, err error) {
	var edits []lang.Edit
	byStart := map[int]string{}
	for _, r := range results {
		for _, s := range r.stuck {
			if s.At.File == name {
				kept = append(kept, s)
			}
		}
		for _, e := range r.edits {
			if e.place.File != name {
				continue
			}
			first, taken := byStart[e.place.Start]
			if !taken {
				byStart[e.place.Start] = e.text
				edits = append(edits, laidOut(src, e)...)
			} else if first != e.text {
				kept = append(kept, Failure{At: e.place, What: "value", Message: "two tests came to different values, of which the first was written"})
			}
		}
	}
	out, commented, err := lang.Rewrite(name, src, edits)
	if err != nil {
		return nil, kept, err
	}
	for _, at := range commented {
		delete(byStart, at.Start)
		kept = append(kept, Failure{At: at, What: "value", Message: "a comment stands in it, so it was left as it is"})
	}
	for _, r := range results {
		for _, e := range r.edits {
			if e.place.File == name && byStart[e.place.Start] == e.text {
				r.wrote(e.place)
			}
		}
	}
	return out, kept, nil
}

// laidOut is an edit of a file, in lines of its own where it opens a block: what
// else stands in the block's one line goes before it, and its brace below.
func laidOut(src []byte, e edit) []lang.Edit {
	opens := e.want == nil && strings.HasPrefix(e.text, "\n")
	if !opens {
		return []lang.Edit{{Place: e.place, Text: e.text}}
	}
	line, _, _ := bytes.Cut(src[e.place.Start:], []byte("\n"))
	line = bytes.TrimRight(line, " \t")
	if len(line) == 0 {
		return []lang.Edit{{Place: e.place, Text: strings.TrimSuffix(e.text, "\n")}}
	}
	if line[len(line)-1] != '}' || len(line) == 1 {
		return []lang.Edit{{Place: e.place, Text: e.text}}
	}
	at := e.place
	at.Start += len(line) - 1
	at.End = at.Start
	return []lang.Edit{{Place: e.place, Text: strings.TrimSuffix(e.text, "\n") + "\n"}, {Place: at, Text: "\n"}}
}

// wrote marks the failures of a place as mended.
func (r *Result) wrote(at lang.Place) {
	for i := range r.Failures {
		if r.Failures[i].At == at {
			r.Failures[i].Written = true
		}
	}
}
