package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
)

// TestReadPlain: what is read without the decoder is what it reads, and what it
// refuses is refused.
func TestReadPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{`"a"`, `"é b"`, `""`, `"\""`, `"\n"`, "\"\x01\"", "\"\xff\"", `null`, `1`, `[`, `]`, `{`, `}`, `,`, `,`, `"url":`, `"quote":`, `"supports":`, `"z":`, ` `, `["a","b"]`, `{"quote":"q","supports":["x"],"url":"u"}`, `{"quote":"q"}`, `tru`, `true`})
		between := rapid.SampledFrom([]string{"", ","}).Draw(t, "between")
		doc := []byte(strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "pieces"), between))
		if rapid.Bool().Draw(t, "list") {
			doc = append(append([]byte{'['}, doc...), ']')
		}
		agreePlain[string](t, doc)
		agreePlain[[]string](t, doc)
		agreePlain[[]*string](t, doc)
		agreePlain[[]source](t, doc)
	})
	for doc, into := range map[string]any{
		`"é b"`: new(string), `["a","é"]`: new([]string), `[]`: new([]string), `["a"]`: new([]*string),
		`[{"note":"n","quote":"q","seen":null,"supports":["x"],"url":"u"},{}]`: new([]source),
	} {
		if !readPlain([]byte(doc), into) {
			t.Errorf("%s is left to the decoder", doc)
		}
	}
}

func agreePlain[T any](t *rapid.T, doc []byte) {
	var got, want T
	if !readPlain(doc, any(&got)) {
		return
	}
	if err := json.Unmarshal(doc, &want); err != nil {
		t.Fatalf("%q was read as %#v, and is refused: %v", doc, got, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q (-want +got)\n%s", doc, diff)
	}
}

// TestVisitDocument: a visit that is written by hand is what the encoder writes.
func TestVisitDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "builtin/prompt", "\xff"}))
		digest := func(label string) dag.Digest {
			if rapid.Bool().Draw(t, label+" is none") {
				return dag.Digest{}
			}
			return dag.Sum([]byte(text.Draw(t, label)))
		}
		at := timestamp(time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "at"), 0))
		row := &visitRow{
			Digest: digest("digest"), EndedAt: at, Input: digest("input"), Model: text.Draw(t, "model"), Pass: rapid.IntRange(0, 1<<40).Draw(t, "pass"),
			Plugin: text.Draw(t, "plugin"), Provider: text.Draw(t, "provider"), StartedAt: at,
		}
		want, wantErr := rowOf(row)
		got, err := row.document()
		if (err == nil) != (wantErr == nil) || err == nil && string(got)+"\n" != string(want) {
			t.Fatalf("%s, %v; want %s, %v", got, err, want, wantErr)
		}
	})
}
