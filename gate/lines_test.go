package gate

import (
	"testing"

	"pgregory.net/rapid"

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

// TestEvidenceLineRefuses what is no text, and a member that the gate writes itself.
func TestEvidenceLineRefuses(t *testing.T) {
	if line, err := evidenceLine(&evidenceRow{Item: "\xff"}, nil); err == nil {
		t.Errorf("a key that is not UTF-8 was written: %s", line)
	}
	if line, err := evidenceLine(&evidenceRow{RunID: "\xff"}, nil); err == nil {
		t.Errorf("a run that is not UTF-8 was written: %s", line)
	}
	if line, err := evidenceLine(&evidenceRow{}, []byte(`{"bucket":"b"}`)); err == nil {
		t.Errorf("a second bucket was written: %s", line)
	}
}

// TestOwnID: only a member of the record itself is its id.
func TestOwnID(t *testing.T) {
	for record, want := range map[string]string{
		`{}`:                      "",
		`[]`:                      "",
		`["id",1]`:                "",
		`"id"`:                    "",
		`{"id":"x"}`:              `"x"`,
		`{"a":{"id":"in"},"b":1}`: "",
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
