package dag

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fullTrail has every field set.
func fullTrail() *Trail {
	half, at := 0.5, time.Date(2026, 1, 15, 10, 15, 0, 123, time.UTC)
	d := func(s string) Digest { return Sum([]byte(s)) }
	findings := []Finding{
		{Code: "THIN", Triage: Review, Stage: "s", Shadow: true, Noted: Reject, Figure: &half, Evidence: "short"},
		{Code: "BAD", Triage: Accept, Stage: "s"},
	}
	return &Trail{
		Item: "history/1/t1", Parent: "history/1", Origin: d("origin"), First: d("first"),
		Visits: []Visit{
			{Stage: "s", Pass: 1, Input: d("first"), Output: d("out"), Item: d("out"), Action: d("action"), Outcome: "ok", Findings: findings,
				Rule: "else", Seen: []Seen{{"item", []byte(`{"a":1}`)}},
				Facts: Facts{Model: "m", StartedAt: at, EndedAt: at.Add(time.Second), Reused: true, Unpaid: true, Calls: 1, Input: 2, Cached: 3, OutTokens: 4,
					Paid: Bill{Attempts: 5, Tokens: Tokens{Input: 6, Cached: 7, Written: 8, Output: 9}, Estimated: 10, USD: 0.011, Unpriced: 12, Price: "prices of 2026-01-31"}}},
			{Stage: "t", Pass: 300, Input: d("out"), Failure: &Failure{Code: "BAD", Cause: EMask, Message: "changed /q"}, Item: d("out")},
		},
		Decisions: []Decision{
			{After: -1, Route: "r", Stage: "p", Arm: 3, Pos: line1(4), Seen: []Seen{{"item.cat", []byte(`"music"`)}, {"item", []byte(`null`)}}, To: "stage.s", Findings: findings},
			{After: 1, Route: "r", Stage: "t", Arm: -1, To: "stop"},
		},
		End: Failed, As: Review, Code: "BAD", Status: "repair", Failed: &Failure{Code: EExpr, Message: "no"},
		Codes: []Code{"BAD", "THIN"}, Findings: findings, Record: "id-1", Message: "said so",
		Children: []ChildRef{{"history/1/t1/a", d("a")}, {"history/1/t1/b", d("first")}},
	}
}

func TestATrailIsUnpackedAsItWasPacked(t *testing.T) {
	for name, trail := range map[string]*Trail{"all": fullTrail(), "none": {Visits: []Visit{}, Decisions: []Decision{}}} {
		packed := AppendTrail([]byte("before"), trail)
		if !bytes.HasPrefix(packed, []byte("before")) {
			t.Errorf("%s: what stood before is gone", name)
		}
		got, err := DecodeTrail(packed[len("before"):])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(trail, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestATrailIsPackedToAThirdOfItsJSON(t *testing.T) {
	trail := fiveVisits(t)
	packed, text := len(AppendTrail(nil, trail)), len(mustJSON(trail))
	if packed*3 > text {
		t.Errorf("packed it takes %d bytes, as JSON %d", packed, text)
	}
}

func TestADamagedTrailIsAnErrorAtEachByte(t *testing.T) {
	packed := AppendTrail(nil, fullTrail())
	for n := range packed {
		if _, err := DecodeTrail(packed[:n]); err == nil {
			t.Errorf("cut after %d of %d bytes, it is unpacked", n, len(packed))
		}
	}
	if _, err := DecodeTrail(append(packed, 0)); err == nil {
		t.Error("with a byte more it is unpacked")
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"another version":  {[]byte{9}, "a packed trail has version 9, this program reads versions up to 2"},
		"nothing":          {nil, "a packed trail is damaged: it ends too early"},
		"a wild count":     {append([]byte{trailVersion, 0, 0, 0, 0}, 0xff, 0xff, 0xff, 0x7f), "a packed trail is damaged: a list is longer than what there is"},
		"a wild reference": {[]byte{trailVersion, 9}, "a packed trail is damaged: a text repeats one that is not there"},
	} {
		if _, err := DecodeTrail(c.b); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// Back references run out after some texts and digests; what comes later must
// still be found again.
func TestATrailOfManyNamesIsUnpackedAsItWasPacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trail := &Trail{Visits: []Visit{}, Decisions: []Decision{}}
		for range rapid.IntRange(0, 60).Draw(t, "visits") {
			n := rapid.IntRange(0, 40).Draw(t, "n")
			trail.Visits = append(trail.Visits, Visit{Stage: rapid.StringN(0, 8, -1).Draw(t, "stage"), Pass: n, Input: Sum([]byte{byte(n)}), Outcome: string(rune('a' + n))})
		}
		got, err := DecodeTrail(AppendTrail(nil, trail))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(trail, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func FuzzDecodeTrail(f *testing.F) {
	f.Add(AppendTrail(nil, fullTrail()))
	f.Add([]byte{trailVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		trail, err := DecodeTrail(b)
		if err != nil {
			return
		}
		for _, v := range trail.Visits {
			for _, finding := range v.Findings {
				if finding.Figure != nil && math.IsNaN(*finding.Figure) {
					return // equal to nothing
				}
			}
		}
		packed := AppendTrail(nil, trail)
		again, err := DecodeTrail(packed)
		if err != nil {
			t.Fatalf("packed again it is damaged: %v", err)
		}
		if !bytes.Equal(AppendTrail(nil, again), packed) {
			t.Fatal("packed a third time it is another")
		}
	})
}

func FuzzRestore(f *testing.F) {
	b := loop()
	b.Prove()
	tr := b.Start(Item{Key: "k", Origin: lit("0")}, lit(`{"id":"r"}`))
	f.Add(tr.State())
	tr.Next()
	tr.Apply(&Visited{Output: lit(`"A"`), Findings: []PluginFinding{{Word: "thin"}}})
	f.Add(tr.State())
	f.Fuzz(func(t *testing.T, state []byte) {
		tr, err := b.Restore(state, func(Digest) ([]byte, error) { return []byte("0"), nil })
		if err != nil {
			return
		}
		if step, err := tr.Next(); err == nil && step.Kind == DoVisit {
			tr.Apply(&Visited{Output: lit("1")})
			tr.Next()
		}
		tr.Trail()
		tr.State()
	})
}
