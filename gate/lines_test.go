package gate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// TestEvidenceLine: a row that is written by hand is the row that the encoder and
// the canonical form give, with and without members of the pipeline's own.
func TestEvidenceLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		row := &evidenceRow{
			AcceptKey: keyOf(text.Draw(t, "key")).String(), AcceptedAt: "2026-01-15T10:15:00.000Z", Bucket: text.Draw(t, "bucket"),
			Data: text.Draw(t, "data"), Digest: text.Draw(t, "digest"), ID: text.Draw(t, "id"), Item: text.Draw(t, "item"),
			Previous: text.Draw(t, "previous"), RunID: text.Draw(t, "run"), Sequence: rapid.Uint64Max(1<<53).Draw(t, "sequence"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "keys") {
			row.Keys = append(row.Keys, keyOf(text.Draw(t, "key")).String())
			row.Exempt = append(row.Exempt, text.Draw(t, "exempt"))
		}
		want, err := rowOf(row)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range []string{"", "{}"} {
			var own []byte
			if object != "" {
				own = []byte(object)
			}
			got, err := evidenceLine(row, own)
			if err != nil || string(got) != string(want) {
				t.Fatalf("with %q: %s, %v; want %s", object, got, err, want)
			}
		}
		got, err := evidenceLine(row, []byte(`{"zeal":1,"agreed":[2]}`))
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := canon.Canonical(nil, got[:len(got)-1])
		if err != nil || string(canonical)+"\n" != string(got) {
			t.Fatalf("%s is not canonical: %v", got, err)
		}
	})
}

// TestEvidenceForm: a row that was made before its place was known is the row that
// is made at once.
func TestEvidenceForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		row := evidenceRow{
			AcceptKey: keyOf(text.Draw(t, "key")).String(), AcceptedAt: "2026-01-15T10:15:00.000Z", Bucket: text.Draw(t, "bucket"),
			Data: text.Draw(t, "data"), Digest: text.Draw(t, "digest"), ID: text.Draw(t, "id"), Item: text.Draw(t, "item"),
			RunID: text.Draw(t, "run"), Sequence: rapid.Uint64Max(1<<53).Draw(t, "sequence"),
		}
		previous := dag.Sum([]byte(text.Draw(t, "previous")))
		row.Previous = previous.String()
		object := rapid.SampledFrom([]string{"", `{}`, `{"a":{"previous":"x"},"b":"\"sequence\":7"}`, `{"prevent":1,"se":"}","zeal":[{"accepted_at":0}]}`, `{"é":1}`}).Draw(t, "object")
		var own []byte
		if object != "" {
			own = []byte(object)
		}
		want, err := evidenceLine(&row, own)
		if err != nil {
			t.Fatal(err)
		}
		form, err := formOf(row, own)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // a form is not used up
			if got := form.line(row.AcceptedAt, previous, row.Sequence); string(got) != string(want) {
				t.Fatalf("%s; want %s", got, want)
			}
		}
	})
	for _, object := range []string{`{"previous":"x"}`, `{"sequence":1}`, `{"accepted_at":null}`} {
		if form, err := formOf(evidenceRow{}, []byte(object)); err == nil {
			t.Errorf("%s was taken: %s", object, form.row)
		}
	}
}

// TestMergedLine: what is spliced is what the canonical form makes of all members.
func TestMergedLine(t *testing.T) {
	names := []string{"", "a", "a b", "ab", "a!", "A", "é", "\U0001f600", "\ufb33", `q"`, "id", "z"}
	values := []string{`1`, `"x"`, `"}"`, `"\\"`, `"\""`, `{}`, `{"b":[1,"]"],"c":{}}`, `[]`, `null`, `"é"`}
	object := func(t *rapid.T, label string) []byte {
		raw := []byte{'{'}
		for i, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 5, rapid.ID[string]).Draw(t, label) {
			if i > 0 {
				raw = append(raw, ',')
			}
			raw = append(append(canon.Quote(raw, name), ':'), rapid.SampledFrom(values).Draw(t, "value")...)
		}
		out, err := canon.Canonical(nil, append(raw, '}'))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := object(t, "a"), object(t, "b")
		got, err := mergedLine(a, b)
		want, wantErr := canon.Canonical(nil, joinObjects(a, b))
		if (err == nil) != (wantErr == nil) || err == nil && string(got) != string(want)+"\n" {
			t.Fatalf("%s and %s: %s, %v; want %s, %v", a, b, got, err, want, wantErr)
		}
	})
}

// TestSplicedLeaves what is not plain to the canonical form.
func TestSplicedLeaves(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want string // empty: left
	}{
		{`{}`, `{}`, `{}`},
		{`{"b":1}`, `{}`, `{"b":1}`},
		{`{}`, `{"b":1}`, `{"b":1}`},
		{`{"b":1,"d":"}"}`, `{"a":[{}],"c":2,"e":"\\"}`, `{"a":[{}],"b":1,"c":2,"d":"}","e":"\\"}`},
		{`{"a b":1}`, `{"a":2}`, `{"a":2,"a b":1}`},
		{`{"b":1}`, `{"b":2}`, ""},
		{`{"b":1}`, `{"é":2}`, ""},
		{`{"b":1}`, `{"\n":2}`, ""},
		{`{"b":1}`, `{"c":2,"a":3}`, ""},
		{`{"b":1}`, `{"c":2,"c":3}`, ""},
		{`{"b":1}`, `{"c":2`, ""},
		{`{"b":1}`, `{"c":}`, ""},
		{`{"b":1}`, `{"c"}`, ""},
		{`{"b":1}`, `{,}`, ""},
		{`{"b":1}`, `{"c":2}}`, ""},
		{`{"b":1}`, `{"c":2,}`, ""},
		{`{"b":1}`, `[]`, ""},
		{`{"b":1}`, ``, ""},
		{`{"b":1}`, `{`, ""},
	} {
		got, ok := spliced(nil, []byte(tt.a), []byte(tt.b))
		if ok != (tt.want != "") || ok && string(got) != tt.want {
			t.Errorf("%s and %s: %s, %t; want %q", tt.a, tt.b, got, ok, tt.want)
		}
	}
}

// TestBreakerLine: the same of the state of a breaker.
func TestBreakerLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := &breakerRow{
			Accepted: rapid.IntRange(0, 1<<53).Draw(t, "accepted"), At: "2026-01-15T10:15:00.000Z", Bucket: rapid.String().Draw(t, "bucket"),
			Consecutive: rapid.IntRange(0, 1<<53).Draw(t, "consecutive"), Reset: rapid.Bool().Draw(t, "reset"),
			Stopped: rapid.IntRange(0, 1<<53).Draw(t, "stopped"), TrippedAt: rapid.SampledFrom([]string{"", "2026-01-15T10:15:00.000Z"}).Draw(t, "tripped"),
		}
		want, err := rowOf(row)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := row.line(); err != nil || string(got) != string(want) {
			t.Fatalf("%s, %v; want %s", got, err, want)
		}
	})
	if line, err := (&breakerRow{Bucket: "\xff"}).line(); err == nil {
		t.Errorf("a bucket that is not UTF-8 was written: %s", line)
	}
}

// TestEvidenceLineRefuses what is no text, and a member that the gate writes itself.
func TestEvidenceLineRefuses(t *testing.T) {
	if line, err := evidenceLine(&evidenceRow{Item: "\xff"}, nil); err == nil {
		t.Errorf("a key that is not UTF-8 was written: %s", line)
	}
	if line, err := evidenceLine(&evidenceRow{RunID: "\xff"}, nil); err == nil {
		t.Errorf("a run that is not UTF-8 was written: %s", line)
	}
	if line, err := evidenceLine(&evidenceRow{Exempt: []string{"\xff"}}, nil); err == nil {
		t.Errorf("a host that is not UTF-8 was written: %s", line)
	}
	if line, err := evidenceLine(&evidenceRow{}, []byte(`{"bucket":"b"}`)); err == nil {
		t.Errorf("a second bucket was written: %s", line)
	}
}

// TestSkim: what is skimmed from a row is what the decoder reads; and what the gate
// does not write is left to it.
func TestSkim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		row := &evidenceRow{
			AcceptKey: keyOf(text.Draw(t, "key")).String(), Bucket: text.Draw(t, "bucket"), ID: text.Draw(t, "id"),
			Item: text.Draw(t, "item"), Previous: text.Draw(t, "previous"), Sequence: rapid.Uint64Max(1<<53).Draw(t, "sequence"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "keys") {
			row.Keys = append(row.Keys, keyOf(text.Draw(t, "key")).String())
		}
		line, err := evidenceLine(row, []byte(`{"b":{"id":"}"},"keyz":[1,"]"],"q":"\\\"","z":null}`))
		if err != nil {
			t.Fatal(err)
		}
		line = line[:len(line)-1]
		var skimmed, decoded evidenceNote
		previous, ok := skimmed.skim(line)
		if !ok {
			return // it has an escape, or no id
		}
		// The decoder is asked about the same row in a form that is not canonical.
		want, keyed, ok := decoded.read(append([]byte(" "), line...))
		if !ok || !keyed || string(previous) != string(want) {
			t.Fatalf("%s: skimmed %s, decoded %s, %t, %t", line, previous, want, keyed, ok)
		}
		if diff := cmp.Diff(skimmed, decoded, cmp.AllowUnexported(evidenceNote{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: skimmed and decoded differ:\n%s", line, diff)
		}
		if k, ok := skimAcceptKey(line); !ok || k != skimmed.accept {
			t.Fatalf("%s: accept key %s, %t", line, k, ok)
		}
	})
}

// TestSkimLeaves to the decoder what the gate does not write.
func TestSkimLeaves(t *testing.T) {
	good := `{"accept_key":"00112233445566778899aabbccddeeff","id":"x","previous":"00","sequence":1}`
	var n evidenceNote
	if previous, ok := n.skim([]byte(good)); !ok || string(previous) != "00" || n.id != "x" || n.sequence != 1 {
		t.Fatalf("%s: %s, %t, %+v", good, previous, ok, n)
	}
	for _, line := range []string{
		"", "{", "{}", "[]", "null", good + " ", good[:len(good)-1], " " + good,
		strings.Replace(good, ":", ": ", 1),
		strings.Replace(good, `"x"`, `"\u0078"`, 1),
		strings.Replace(good, `"x"`, `""`, 1),
		strings.Replace(good, `"x"`, `7`, 1),
		strings.Replace(good, `"00"`, `null`, 1),
		strings.Replace(good, `:1}`, `:-1}`, 1),
		strings.Replace(good, `:1}`, `:1.5}`, 1),
		strings.Replace(good, `:1}`, `:10000000000000000}`, 1),
		strings.Replace(good, `eeff`, `eefg`, 1),
		strings.Replace(good, `eeff`, `ee`, 1),
		strings.Replace(good, `"id"`, `"keys":["00"],"id"`, 1),
		strings.Replace(good, `"id"`, `"keys":[],"id"`, 1),
		strings.Replace(good, `"id"`, `"keys":7,"id"`, 1),
		strings.Replace(good, `,"sequence":1`, "", 1),
	} {
		if _, ok := n.skim([]byte(line)); ok {
			t.Errorf("skimmed %s", line)
		}
	}
}

// TestOwnID: only a member of the record itself is its id.
func TestOwnID(t *testing.T) {
	for record, want := range map[string]string{
		`{}`:                                     "",
		`[]`:                                     "",
		`["id",1]`:                               "",
		`"id"`:                                   "",
		`{"id":"x"}`:                             `"x"`,
		`{"a":{"id":"in"},"b":1}`:                "",
		`{"a":{"id":"in"},"id":"out","z":[{}]}`:  `"out"`,
		`{"a":"\"id\":","id":7}`:                 `7`,
		`{"a":"\\","b":["}",{"c":"]"}],"id":{}}`: `{}`,
		`{"ident":"no","iron":2}`:                "",
		`{"a":"\\\"","id":[1,[2,3]],"k":null}`:   `[1,[2,3]]`,
	} {
		if got := string(ownID([]byte(record))); got != want {
			t.Errorf("%s: %s, want %s", record, got, want)
		}
	}
}
