package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

func TestChecksAreUnpackedAsTheyWerePacked(t *testing.T) {
	text := rapid.StringN(0, 20, 40)
	rapid.Check(t, func(t *rapid.T) {
		var want []gate.CheckResult
		for range rapid.IntRange(0, 5).Draw(t, "checks") {
			c := gate.CheckResult{
				Name: text.Draw(t, "name"), State: rapid.SampledFrom(checkStates).Draw(t, "state"),
				Shadow: rapid.Bool().Draw(t, "shadow"), Evidence: text.Draw(t, "evidence"),
			}
			if rapid.Bool().Draw(t, "has a figure") {
				f := rapid.Float64Range(-1e9, 1e9).Draw(t, "figure")
				c.Figure = &f
			}
			for range rapid.IntRange(0, 2).Draw(t, "details") {
				c.Details = append(c.Details, gate.Detail{Code: dag.Code(text.Draw(t, "code")), At: text.Draw(t, "at"), Why: text.Draw(t, "why"), Cause: "E_EXPR"})
			}
			want = append(want, c)
		}
		packed := appendChecks(nil, want)
		r := unpacker{b: packed}
		if diff := cmp.Diff(want, r.checks()); diff != "" || r.bad || len(r.b) > 0 {
			t.Fatalf("%d bytes are left, bad %v (-want +got):\n%s", len(r.b), r.bad, diff)
		}
		for n := range packed { // cut off anywhere it is bad, never a panic
			r := unpacker{b: packed[:n]}
			if r.checks(); !r.bad {
				t.Fatalf("cut off after %d of %d bytes it reads as whole", n, len(packed))
			}
		}
	})
}

func TestAFamilyOfTheFirstVersionIsRead(t *testing.T) {
	trail := &dag.Trail{Item: "k", Visits: []dag.Visit{}, Decisions: []dag.Decision{}, End: dag.Accepted}
	packed := dag.AppendTrail(nil, trail)
	b := append([]byte{1, 1}, appendText(nil, "k")...)
	b = appendText(b, string(dag.Accepted))
	b = append(b, 0)
	for _, text := range []string{"", "", "id", string(packed)} {
		b = appendText(b, text)
	}
	got, err := DecodeFamily(b)
	if err != nil {
		t.Fatal(err)
	}
	want := []Member{{Key: "k", End: dag.Accepted, Record: "id", Trail: trail}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"k"}, familyKeys(b)); diff != "" {
		t.Errorf("its keys: -want +got:\n%s", diff)
	}
	if _, err := DecodeFamily([]byte{familyVersion + 1, 0}); err == nil {
		t.Error("a record of a later version is read")
	}
}

func TestAVisitIsTakenApart(t *testing.T) {
	for what, want := range map[string][2]string{
		"verifier[card-7]":         {"verifier", "card-7"},
		"verifier[a/b[1]]":         {"verifier", "a/b[1]"},
		"verifier[]":               {"verifier", ""},
		"verifier":                 {},
		"data/in[1].jsonl:3":       {},
		"in[1].jsonl:3":            {},
		"in.jsonl:3]":              {},
		"[card-7]":                 {},
		"a stage[with a blank]":    {},
		"topics.jsonl:7/t-1[x]":    {},
		"mme_crafter[music/1/x y]": {"mme_crafter", "music/1/x y"},
	} {
		stage, item, ok := SplitVisit(what)
		if got := [2]string{stage, item}; got != want || ok != (want[0] != "") {
			t.Errorf("%q is %q, %v; want %q", what, got, ok, want)
		}
	}
}
