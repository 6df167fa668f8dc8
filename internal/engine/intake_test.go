package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// gateEnd is how an item ended, as its rejection row tells it.
type gateEnd struct {
	Item, Bucket, Code, Cause string
	Why                       string // a part of the message
}

// What is wrong with a record ends its item before its first visit: failed, with
// a code, its place and a row.
func TestIntake(t *testing.T) {
	pipeline := strings.Replace(one, "candidate = { card = item }", "candidate = { card = item }\n  bucket = origin.bucket", 1)
	pipeline = strings.Replace(pipeline, "data/cards.jsonl", "data/${bucket}.jsonl", 1)
	coded := "failure \"R_SHAPE\" { meaning = \"Not a record.\" }\n" +
		strings.Replace(pipeline, "key   = origin.id", "key   = origin.id\n  schema = \"item.json\"\n  code = failure.R_SHAPE", 1)
	long := strings.Repeat("k", 257)
	for _, test := range []struct {
		name, pipeline string
		items          []string
		want           []gateEnd
		accepted       int
		duplicates     int
		notes          string
	}{
		{name: "not JSON", pipeline: pipeline, items: []string{`{"id":"a","bucket":"b"}`, `{"id":`, `{"id":"x","id":"y","bucket":"b"}`, `{"id":"d","n":1e999}`, `[1`, `{"id":"c","bucket":"b"}`},
			want: []gateEnd{
				{Item: "items.jsonl:2", Code: "E_INPUT", Why: "items.jsonl:2: "},
				{Item: "items.jsonl:3", Code: "E_INPUT", Why: `"id"`},
				{Item: "items.jsonl:4", Code: "E_INPUT", Why: "items.jsonl:4: "},
				{Item: "items.jsonl:5", Code: "E_INPUT", Why: "items.jsonl:5: "},
			}, accepted: 2},
		{name: "a misfit with a code", pipeline: coded, items: []string{`{"id":"a","bucket":"b"}`, `{"id":"b","bucket":"b","n":"many"}`, `{"bucket":"b"}`, `7`},
			want: []gateEnd{
				{Item: "items.jsonl:2", Bucket: "b", Code: "R_SHAPE", Cause: "E_INPUT", Why: "items.jsonl:2: "},
				{Item: "items.jsonl:3", Bucket: "b", Code: "R_SHAPE", Cause: "E_INPUT", Why: "items.jsonl:3: "},
				{Item: "items.jsonl:4", Code: "R_SHAPE", Cause: "E_INPUT", Why: "items.jsonl:4: "},
			}, accepted: 1},
		{name: "keys twice", pipeline: pipeline, items: []string{`{"id":"a","bucket":"b"}`, `{"id":"a","bucket":"b"}`, `{"id":"a","bucket":"c"}`, `{"id":"d","bucket":"b"}`},
			want: []gateEnd{
				{Item: "items.jsonl:3", Bucket: "c", Code: "E_DUPLICATE_KEY", Why: "items.jsonl:3: "},
			}, accepted: 2, duplicates: 1, notes: `items.jsonl:2: key "a" a second time, with the same bytes`},
		{name: "keys that cannot be", pipeline: pipeline, items: []string{`{"id":"tab\t","bucket":"b"}`, `{"id":"` + long + `","bucket":"b"}`, `{"id":"","bucket":"b"}`, `{"id":"c1\u0085","bucket":"b"}`, `{"id":7,"bucket":"b"}`, `{"id":"ok","bucket":"b"}`},
			want: []gateEnd{
				{Item: "items.jsonl:1", Bucket: "b", Code: "E_INPUT", Why: "control character"},
				{Item: "items.jsonl:2", Bucket: "b", Code: "E_INPUT", Why: "257 bytes"},
				{Item: "items.jsonl:3", Bucket: "b", Code: "E_INPUT", Why: "empty"},
				{Item: "items.jsonl:4", Bucket: "b", Code: "E_INPUT", Why: "control character"},
				{Item: "items.jsonl:5", Bucket: "b", Code: "E_INPUT", Why: "a text is needed"},
			}, accepted: 1},
		{name: "buckets that cannot be", pipeline: pipeline, items: []string{`{"id":"a","bucket":"../b"}`, `{"id":"b","bucket":"B"}`, `{"id":"c","bucket":""}`, `{"id":"d"}`, `{"id":"e","bucket":"b"}`},
			want: []gateEnd{
				{Item: "items.jsonl:1", Code: "E_BUCKET", Why: "items.jsonl:1: "},
				{Item: "items.jsonl:2", Code: "E_BUCKET", Why: `"B"`},
				{Item: "items.jsonl:3", Code: "E_BUCKET", Why: "items.jsonl:3: "},
				{Item: "items.jsonl:4", Code: "E_BUCKET", Why: "items.jsonl:4: "},
			}, accepted: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorkspace(t, test.pipeline, test.items, keep)
			w.write("item.json", `{"type":"object","required":["id","bucket"],"properties":{"id":{"type":"string"},"bucket":{"type":"string"},"n":{"type":"number"}}}`)
			s := w.run()
			if s.Kind != 0 || s.Tally.Ends[dag.Accepted] != test.accepted || s.Tally.Ends[dag.Failed] != len(test.want) ||
				s.Tally.Duplicates != test.duplicates || s.Tally.TakenIn != test.accepted+len(test.want) || w.made("") != test.accepted {
				t.Errorf("%d visits, %+v", w.made(""), s)
			}
			rows := w.rows("meta/rejections.jsonl")
			if len(rows) != len(test.want) {
				t.Fatalf("%d rejection rows: %s", len(rows), rows)
			}
			slices.SortFunc(rows, func(a, b jsontext.Value) int { return strings.Compare(place(a), place(b)) }) // buckets have no order
			for i, want := range test.want {
				row := rows[i]
				details, _ := member(row, "detail").([]any)
				if len(details) != 1 {
					t.Fatalf("row %s", row)
				}
				detail, _ := details[0].(map[string]any)
				got := gateEnd{Item: fmt.Sprint(member(row, "item")), Bucket: fmt.Sprint(member(row, "bucket")), Why: want.Why}
				got.Code, _ = detail["code"].(string)
				got.Cause, _ = detail["cause"].(string)
				if why, _ := detail["why"].(string); !strings.Contains(why, want.Why) {
					got.Why = why
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("row %d (-want +got):\n%s", i, diff)
				}
				if member(row, "end") != "failed" {
					t.Errorf("row %d ends %v", i, member(row, "end"))
				}
			}
			if test.notes != "" && !w.last.said(test.notes) {
				t.Errorf("nothing is said of the second: %q", w.last.warned)
			}
			// A second run visits nothing and records nothing anew.
			w.forget()
			again := w.run()
			if diff := cmp.Diff(s.Tally.Ends, again.Tally.Ends); diff != "" || w.made("") != 0 || again.Tally.Duplicates != test.duplicates {
				t.Errorf("a second run made %d visits, skipped %d (-first +second):\n%s", w.made(""), again.Tally.Duplicates, diff)
			}
			if test.notes != "" && !w.last.said(test.notes) {
				t.Errorf("the second run says nothing of it: %q", w.last.warned)
			}
			if got := len(w.rows("meta/rejections.jsonl")); got != len(test.want) {
				t.Errorf("%d rejection rows after a second run, want %d", got, len(test.want))
			}
		})
	}
}

// place is where a rejected record stands.
func place(row jsontext.Value) string {
	_, after, _ := strings.Cut(string(row), "items.jsonl:")
	return after[:1]
}

// A key that was accepted before, with other bytes, is no reason to skip a line.
func TestDuplicateOfFinished(t *testing.T) {
	w := newWorkspace(t, one, []string{`{"id":"a","n":1}`}, keep)
	w.run()
	w.write("items.jsonl", `{"id":"a","n":2}`+"\n"+`{"id":"a","n":1}`+"\n")
	s := w.run()
	if s.Tally.TakenIn != 2 || s.Tally.Duplicates != 0 {
		t.Errorf("%+v", s)
	}
}

// The place of a record is its key where the source has none, and must do as one.
func TestPlaceAsKey(t *testing.T) {
	pipeline := strings.NewReplacer("  key   = origin.id\n", "", `"items.jsonl"`, `"in/**"`).Replace(one)
	w := newWorkspace(t, pipeline, nil, keep)
	deep := strings.Repeat("a-long-folder-name/", 14)
	w.write("in/"+deep+"x.jsonl", `{"id":"deep"}`+"\n")
	w.write("in/line\nfeed.jsonl", `{"id":"feed"}`+"\n")
	w.write("in/ok.jsonl", `{"id":"ok"}`+"\n")
	s := w.run()
	if s.Kind != 0 || s.Tally.Ends[dag.Accepted] != 1 || s.Tally.Ends[dag.Failed] != 2 || len(w.rows("meta/rejections.jsonl")) != 2 {
		t.Errorf("%+v", s)
	}
	for key := range w.members() {
		if len(key) > 256 || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' }) {
			t.Errorf("an item's key is %q", key)
		}
	}
}
