package expr

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
)

// TestDigestIsOfWhatIsComputed: layout, comments, parentheses and names of
// lets do not count, values of constants do.
func TestDigestIsOfWhatIsComputed(t *testing.T) {
	same := [][]string{
		{`item.ok && item.cat == "music"`, "item.ok   && (item.cat\n/* a */ == \"music\") # b\n", `item["ok"] && item.cat == "music"`},
		{`contains(local.mme, item.cat)`, `contains(["music", "film-tv"], item.cat)`},
		{`status == "accept"`, `artifact.verifier.status == "accept"`},
		{`"a${item.q}"`, `"${"a"}${item.q}"`},
		{`item.n > 1 + 1`, `item.n > 2`, `item.n > 2.0`},
		{`{ a = item.q, b = 1 }`, "{\n  a = item.q\n  b = 1\n}"},
		{`true && item.ok`, `item.ok`},
	}
	digests := map[dag.Digest]string{}
	for _, group := range same {
		first := compile(t, "(\n"+group[0]+"\n)", WantAny).Digest()
		if other, twice := digests[first]; twice {
			t.Errorf("%s and %s have one digest", group[0], other)
		}
		digests[first] = group[0]
		for _, src := range group {
			if d := compile(t, "(\n"+src+"\n)", WantAny).Digest(); d != first {
				t.Errorf("%q and %q differ", group[0], src)
			}
		}
	}
	for _, src := range []string{`item.ok || item.cat == "music"`, `item.ok && item.cat != "music"`, `item.cat == "music" && item.ok`, `contains(["music"], item.cat)`,
		`[for s in item.w : s]`, `[for s in item.w : s if s != ""]`, `{ for s in item.w : s => s }`, `item.w[*]`, `item.w[0]`, `get(item, "q", "a")`, `get(item, "q", "b")`, `digest(item)`, `digest(item.q)`, `-item.n`, `item.n - 1`, `item.n + 1`, `"${item.n}"`, `item.w[pass]`, `max(item.w...)`} {
		d := compile(t, src, WantAny).Digest()
		if other, twice := digests[d]; twice {
			t.Errorf("%s and %s have one digest", src, other)
		}
		digests[d] = src
	}
}

func TestDigestCoversVariables(t *testing.T) {
	digest := func(v cty.Value) dag.Digest {
		env := cardEnv()
		env.Consts["var"] = cty.ObjectVal(map[string]cty.Value{"limit": v})
		x, diags := Compile(parse(`item.n > var.limit`), env, WantBool)
		if diags.HasErrors() {
			t.Fatal(complaints(diags))
		}
		return x.Digest()
	}
	if digest(cty.NumberIntVal(1)) == digest(cty.NumberIntVal(2)) {
		t.Error("another value of a variable has the same digest")
	}
}

func TestString(t *testing.T) {
	for src, want := range map[string]string{
		"item.ok   && (item.cat == \"music\") # why": `item.ok && (item.cat == "music")`,
		"(item.ok\n  /* and */ && true)":             `(item.ok && true)`,
		"{\n  a = item.q\n  b = 1\n}":                `{ a = item.q, b = 1 }`,
		`"a  b ${ item.q }"`:                         `"a  b ${ item.q }"`,
		"<<EOT\none\n${item.q}\nEOT\n":               `<<EOT\none\n${item.q}\nEOT`,
	} {
		if got := compile(t, src, WantAny).String(); got != want {
			t.Errorf("%q: %s", src, got)
		}
	}
}

func TestNamesAndPlace(t *testing.T) {
	x := compile(t, `artifact.verifier.found ? pass == 1 : status == item.q || item.ok || pass > 2`, WantBool)
	want := []dag.Name{{Root: "artifact", Member: "verifier"}, {Root: "pass"}, {Root: "item"}}
	if diff := cmp.Diff(want, x.Names()); diff != "" {
		t.Error(diff)
	}
	folded := compile(t, `(local.limit > 1 ? artifact.verifier.found : item.ok) || false && pass == 1`, WantBool)
	if diff := cmp.Diff([]dag.Name{{Root: "item"}}, folded.Names()); diff != "" {
		t.Error(diff)
	}
	if got, err := folded.Bool(cards, nil); err != nil || !got {
		t.Error(got, err)
	}
	if got := x.Pos().String(); got != "p.hcl:1,1" {
		t.Error(got)
	}
}

// TestCompileLeavesTheTreeAlone: one expression is compiled for several places.
func TestCompileLeavesTheTreeAlone(t *testing.T) {
	src := `[for s in artifact.verifier.sources[*].url : s if contains(local.mme, item.cat) && item.ok ? true : false]`
	e, before := parse(src), parse(src)
	for range 2 {
		if _, diags := Compile(e, cardEnv(), WantList); diags.HasErrors() {
			t.Fatal(complaints(diags))
		}
	}
	if diff := cmp.Diff(shape(before), shape(e)); diff != "" {
		t.Error(diff)
	}
}

// shape lists the types of the nodes of a tree, in order.
func shape(e hclsyntax.Expression) []string {
	var types []string
	hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		types = append(types, strings.TrimPrefix(hclType(n), "*hclsyntax."))
		return nil
	})
	return types
}

// TestConcurrent: an expression is used by several goroutines at once.
func TestConcurrent(t *testing.T) {
	x := compile(t, `{ a = artifact.verifier.sources[*].url, b = [for s in item.w : upper(s)], c = [for s in artifact.verifier.sources : s][*].url }`, WantDocument)
	want, err := x.Doc(cards)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if got, err := x.Doc(cards); err != nil || got.Digest != want.Digest {
					t.Errorf("%s, %v", got.Bytes, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestUntypedIsToldOncePerName(t *testing.T) {
	env := cardEnv()
	var told []string
	env.Untyped = func(n dag.Name, r hcl.Range) { told = append(told, n.String()+" "+posOf(r).String()) }
	if _, diags := Compile(parse(`origin == null || origin.a == 1 && get(origin, "b", 2) == origin.c`), env, WantBool); diags.HasErrors() {
		t.Fatal(complaints(diags))
	}
	if diff := cmp.Diff([]string{"origin p.hcl:1,26"}, told); diff != "" {
		t.Error(diff)
	}
}

func TestConstant(t *testing.T) {
	for src, want := range map[string]string{
		`local.mme`:                       `["music","film-tv"]`,
		`"${var.name}/${1 + 1}"`:          `"x/2"`,
		`[for m in local.mme : upper(m)]`: `["MUSIC","FILM-TV"]`,
		`clamp(9, 1, 5)`:                  `5`,
		`null`:                            `null`,
	} {
		v, diags := Constant(parse(src), cardEnv())
		if diags.HasErrors() {
			t.Fatal(complaints(diags))
		}
		if got, err := Canonical(v); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", src, got, err)
		}
	}
	v, diags := Constant(parse(`"k ${var.secret}"`), cardEnv())
	if diags.HasErrors() || !v.HasMark("sensitive") {
		t.Errorf("a secret lost its mark: %#v %v", v, diags)
	}
	for src, want := range map[string]string{
		`item.cat`:   `1,1-5: Not known before the run: item is known only while an item travels, and this must be known before the run.`,
		`output.cat`: `1,1-7: Name not readable here: output can be read in its own stage and in that stage's routes.`,
		`1/0`:        `1,1-4: Expression failed: The number is infinite; a division by zero gives that. Compare the divisor with 0 first.`,
	} {
		if _, diags := Constant(parse(src), cardEnv()); complaints(diags) != want {
			t.Errorf("%s\n%s", src, complaints(diags))
		}
	}
}
