package expr

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// TestFailures holds every failure at run time to its words and its place.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want Want
		msg  string
	}{
		{`origin.kat == "music"`, WantBool, `p.hcl:1,8: origin has no attribute "kat" here. If it may be absent, write get(origin, "kat", DEFAULT). Did you mean "cat"?`},
		{`origin.deep.a.b`, WantText, `p.hcl:1,15: origin.deep.a is a list, which has no attribute "b". One element is origin.deep.a[0].b, all are origin.deep.a[*].b.`},
		{`origin.deep.a[2].b`, WantText, `p.hcl:1,14: origin.deep.a has 2 elements, so there is none at index 2.`},
		{`origin.deep[0]`, WantText, `p.hcl:1,12: origin.deep is an object, which has attributes and no element 0.`},
		{`origin.cat.x`, WantText, `p.hcl:1,12: origin.cat is a text, so origin.cat.x cannot be read.`},
		{`origin.nul.x`, WantText, `p.hcl:1,12: origin.nul is null here, so origin.nul.x cannot be read. Guard it (origin.nul != null && …), or write get(origin.nul, "x", DEFAULT).`},
		{`get(origin.nope.x, "a", 1) == 1`, WantBool, `p.hcl:1,12: origin has no attribute "nope" here. If it may be absent, write get(origin, "nope.x.a", DEFAULT).`},
		{`origin.cat`, WantBool, `p.hcl:1,1: origin.cat is a text here, and a bool is needed. Nothing is converted to a bool; compare it with something.`},
		{`origin.nul`, WantBool, `p.hcl:1,1: origin.nul is null here, and a bool is needed. Compare it: origin.nul == true, or origin.nul != null.`},
		{`origin.batch && true`, WantBool, `p.hcl:1,1: origin.batch is a number here, and a bool is needed. Nothing is converted to a bool; compare it with something.`},
		{`origin.nul > 1`, WantBool, `p.hcl:1,1: origin.nul is null here, and a number is needed. Guard it (origin.nul != null && …), or write get(…, DEFAULT).`},
		{`1 <= origin.nul`, WantBool, `p.hcl:1,6: origin.nul is null here, and a number is needed. Guard it (origin.nul != null && …), or write get(…, DEFAULT).`},
		{`origin.cat > 1`, WantBool, `p.hcl:1,1: origin.cat is a text here, and a number is needed.`},
		{`1 / (origin.batch - 1) > 2`, WantBool, `p.hcl:1,1: The number is infinite; a division by zero gives that. Compare the divisor with 0 first.`},
		{`1 / (origin.batch - 1)`, WantNumber, `p.hcl:1,1: The number is infinite; a division by zero gives that. Compare the divisor with 0 first.`},
		{`(origin.batch - 1) / (origin.batch - 1)`, WantNumber, `p.hcl:1,1: Error during operation: can't divide zero by zero or infinity by infinity.`},
		{`log(0, origin.batch + 1)`, WantNumber, `p.hcl:1,1: The number is infinite (a division by zero gives that).`},
		{`origin.batch`, WantText, `p.hcl:1,1: origin.batch is a number here, and a text is needed. Write it inside a template: "${…}".`},
		{`origin.nul`, WantText, `p.hcl:1,1: origin.nul is null here, and a text is needed. Write origin.nul == null ? "…" : origin.nul, or get(…, DEFAULT).`},
		{`[origin.cat, origin.nul]`, WantTexts, `p.hcl:1,1: Element 1 of this value is null here, and a list of texts is needed.`},
		{`[origin.nul, origin.batch]`, WantAddresses, `p.hcl:1,1: Element 1 of this value is a number here, and a list of texts is needed.`},
		{`origin.cat`, WantAddresses, `p.hcl:1,1: origin.cat is a text here, and a list of texts is needed.`},
		{`origin.deep`, WantText, `p.hcl:1,1: origin.deep is an object here, and a text is needed.`},
		{`item.ok ? origin.batch : "x"`, WantText, `p.hcl:1,11: origin.batch is a number here, and a text is needed. Write it inside a template: "${…}".`},
		{`item.note`, WantText, `p.hcl:1,1: item.note is null here, and a text is needed. Write item.note == null ? "…" : item.note, or get(…, DEFAULT).`},
		{`"a${origin.nul}"`, WantText, `p.hcl:1,5: origin.nul is null here, and cannot stand in a text.`},
		{`origin.cat`, WantNumber, `p.hcl:1,1: origin.cat is a text here, and a number is needed.`},
		{`origin.nul`, WantNumber, `p.hcl:1,1: origin.nul is null here, and a number is needed.`},
		{`origin.cat`, WantList, `p.hcl:1,1: origin.cat is a text here, and a list is needed.`},
		{`origin.deep.a`, WantTexts, `p.hcl:1,1: Element 0 of origin.deep.a is an object here, and a list of texts is needed.`},
		{`[for s in artifact.verifier.sources : s.quote]`, WantTexts, `p.hcl:1,1: Element 1 of this value is null here, and a list of texts is needed.`},
		{`origin.cat[*].x`, WantList, `p.hcl:1,11: origin.cat is a text here, and [*] goes through a list.`},
		{`origin.deep.a[*].c`, WantList, `p.hcl:1,18: origin.deep.a[0] has no attribute "c" here. If it may be absent, write get(origin.deep.a[0], "c", DEFAULT). Did you mean "b"?`},
		{`[for x in origin.deep.a : x.c]`, WantList, `p.hcl:1,29: x has no attribute "c" here. Did you mean "b"?`},
		{`[for x in origin.deep.a : x.b.c]`, WantList, `p.hcl:1,31: x.b is a number, so .c cannot be read from it.`},
		{`{ n = origin.batch * 9007199254740993 }`, WantDocument, `p.hcl:1,7: The integer 9007199254740993 cannot be held exactly by a double; make it a text with format("%d", …).`},
		{`{ for k in ["a", "a"] : k => item.q }`, WantDocument, `p.hcl:1,25: Two different items produced the key "a" in this 'for' expression. If duplicates are expected, use the ellipsis (...) after the value expression to enable grouping by key.`},
		{`substr(origin.batch, 0, origin.nul)`, WantText, `p.hcl:1,25: substr: argument must not be null.`},
		{`sha256(origin.batch)`, WantText, `p.hcl:1,8: sha256 takes a text, and origin.batch is a number here. digest takes any value.`},
		{`url_key(item.q)`, WantText, `p.hcl:1,9: url_key: the URL does not start with http:// or https://.`},
	} {
		t.Run(tt.src, func(t *testing.T) {
			x := compile(t, tt.src, tt.want)
			var err error
			switch tt.want {
			case WantBool:
				_, err = x.Bool(cards, nil)
			case WantText:
				_, err = x.Text(cards)
			default:
				_, err = x.Doc(cards)
			}
			var f *dag.Failure
			if !errors.As(err, &f) || f.Code != dag.EExpr {
				t.Fatalf("%s: %v is no failure of the item", tt.src, err)
			}
			if f.Message != tt.msg {
				t.Errorf("%s\n%s", tt.src, f.Message)
			}
		})
	}
}

// TestScopeErrorsPassThrough: a document that is gone is not the item's fault.
func TestScopeErrorsPassThrough(t *testing.T) {
	gone := docs{"item": "GONE", "origin": `{"a":1}`}
	for _, src := range []string{`item.ok`, `length(item.w) == 1`, `item.ok && origin.a == 1`, `get(item, "q", "x") == "x"`, `item.cat == origin.a`, `contains(local.mme, item.cat)`} {
		if _, err := compile(t, src, WantBool).Bool(gone, nil); err != errGone {
			t.Errorf("%s: %v", src, err)
		}
	}
	for _, src := range []string{`item`, `item.w`, `{ a = item.q }`, `item.w[*]`, `item.ok ? 1 : 2`, `digest(item)`, `[for w in item.w : w]`} {
		if _, err := compile(t, src, WantDocument).Doc(gone); err != errGone {
			t.Errorf("%s: %v", src, err)
		}
	}
	if _, err := compile(t, `item.q`, WantText).Text(gone); err != errGone {
		t.Error(err)
	}
}

// TestLeftDecides: what the left side decides, the right side is not read.
func TestLeftDecides(t *testing.T) {
	scope := docs{"origin": `{"a":false,"b":true}`, "item": "GONE"}
	for src, want := range map[string]bool{`origin.a && item.ok`: false, `origin.b || item.ok`: true, `origin.a ? item.ok : origin.b`: true} {
		got, err := compile(t, src, WantBool).Bool(scope, nil)
		if err != nil || got != want {
			t.Errorf("%s: %t, %v", src, got, err)
		}
	}
}

func TestSeen(t *testing.T) {
	long := make([]byte, 400)
	for i := range long {
		long[i] = 'x'
	}
	scope := docs{"origin": `{"cat":"music","n":1,"long":"` + string(long) + `","o":{"a":["` + string(long) + `"]}}`}
	for _, tt := range []struct {
		src  string
		want []dag.Seen
	}{
		{`origin.cat == "music" || origin.n == 2`, []dag.Seen{{Path: "origin.cat", JSON: []byte(`"music"`)}}},
		{`origin.cat != "music" || origin.n == 1 && origin.n != 3`, []dag.Seen{{Path: "origin.cat", JSON: []byte(`"music"`)}, {Path: "origin.n", JSON: []byte(`1`)}}},
		{`length([origin.cat]) + origin.n == 2`, []dag.Seen{{Path: "origin.cat", JSON: []byte(`"music"`)}, {Path: "origin.n", JSON: []byte(`1`)}}},
		{`get(origin, "x.y", true)`, []dag.Seen{{Path: "origin.x.y", JSON: []byte(`null`)}}},
		{`artifact.repairer == null`, []dag.Seen{{Path: "artifact.repairer", JSON: []byte(`null`)}}},
		{`origin.long == "x"`, []dag.Seen{{Path: "origin.long", JSON: []byte(`"` + string(long[:251]) + `…"`)}}},
		{`length(origin.o) == 1`, []dag.Seen{{Path: "origin.o", JSON: []byte(`"{\"a\":[\"` + string(long[:236]) + `…"`)}}},
	} {
		var seen []dag.Seen
		if _, err := compile(t, tt.src, WantBool).Bool(scope, &seen); err != nil {
			t.Errorf("%s: %v", tt.src, err)
		}
		if diff := cmp.Diff(tt.want, seen); diff != "" {
			t.Errorf("%s\n%s", tt.src, diff)
		}
		for _, s := range seen {
			if len(s.JSON) > 256 {
				t.Errorf("%s: %d bytes", s.Path, len(s.JSON))
			}
		}
	}
}
