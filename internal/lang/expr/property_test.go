package expr

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// Texts that Unicode's normal form tells apart or makes one, and texts that
// need an escape.
var words = []string{"", "a", "b", "music", "é", "e\u0301", "K", "\u212a", `q"uote`, "back\\slash", "line\nbreak", "true", "3", "\U0001f600"}

func genScalar(t *rapid.T) any {
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom(words).Draw(t, "text")
	case 1:
		return rapid.SampledFrom([]float64{0, 1, 2, 0.1, 0.85, -3.5, 1e21, 1e-7, 9007199254740991, 0.30000000000000004}).Draw(t, "number")
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return nil
	}
	return rapid.Float64Range(-10, 10).Draw(t, "float")
}

func genDoc(t *rapid.T) map[string]any {
	doc := map[string]any{}
	for _, name := range []string{"a", "b", "c", "d"} {
		if rapid.IntRange(0, 9).Draw(t, "there") > 0 {
			doc[name] = genScalar(t)
		}
	}
	doc["o"] = map[string]any{"a": genScalar(t), "b": genScalar(t)}
	doc["l"] = []any{genScalar(t), map[string]any{"x": genScalar(t)}}
	doc["z\U0001f600"] = genScalar(t)
	doc["z\uffff"] = genScalar(t)
	return doc
}

func raw(t *rapid.T, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	b, err = canon.Canonical(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var genPath = rapid.SampledFrom([]string{"origin.a", "origin.b", "origin.c", "origin.d", "origin.o.a", "origin.o.b", "origin.l[0]", "origin.l[1].x", `origin["a"]`})

func hclText(s string) string {
	var sb strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			sb.WriteString(`\` + string(r))
		case r == '\n':
			sb.WriteString(`\n`)
		default:
			sb.WriteRune(r)
		}
	}
	return `"` + sb.String() + `"`
}

func genLiteral(t *rapid.T) string {
	switch v := genScalar(t).(type) {
	case string:
		return hclText(v)
	case float64:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', -1, 64), "+")
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}

// genLong is what may have a length.
var genLong = rapid.SampledFrom([]string{"origin.l", "origin.o", "origin", "origin.a", `get(origin, "none", [1, 2])`})

// genText makes a text of paths and constants, or what may be one.
func genText(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 6).Draw(t, "text")
	if depth == 0 {
		kind %= 2
	}
	switch kind {
	case 0:
		return genPath.Draw(t, "path")
	case 1:
		return hclText(rapid.SampledFrom(words).Draw(t, "constant"))
	case 2, 3:
		return `"${` + genText(t, depth-1) + "}" + rapid.SampledFrom([]string{"", "-", "e", "\u0301"}).Draw(t, "between") + "${" + genText(t, depth-1) + `}"`
	case 4:
		return "substr(" + genText(t, depth-1) + ", " + rapid.SampledFrom([]string{"0", "1", "3", "-1"}).Draw(t, "offset") + ", " + rapid.SampledFrom([]string{"0", "2", "12", "-1"}).Draw(t, "length") + ")"
	}
	return rapid.SampledFrom([]string{"sha256", "fingerprint", "normalize"}).Draw(t, "function") + "(" + genText(t, depth-1) + ")"
}

// TestTextsAgree: what is made of raw texts is what the general way makes, and so
// is what either complains of.
func TestTextsAgree(t *testing.T) {
	env, short := cardEnv(), 0
	checkUntil(t, &short, func(t *rapid.T) {
		src := genText(t, 3)
		x, diags := Compile(parse(src), env, WantAny)
		if diags.HasErrors() {
			t.Skip(src)
		}
		c := x.(*compiled)
		p, ok := c.plan.(*computedPlan)
		if !ok {
			return // a path or a constant
		}
		doc := rawScope(raw(t, genDoc(t)))
		if p.text != nil {
			if _, ok := p.text(newFrame(doc, c.names, nil)); ok {
				short++
			}
		}
		agree(t, src, c, doc)
	})
	if short == 0 {
		t.Error("no text was made the short way")
	}
}

// TestConcatAgrees: lists that are put together raw are those of the general way.
func TestConcatAgrees(t *testing.T) {
	env, short := cardEnv(), 0
	parts := rapid.SampledFrom([]string{"origin.l", "origin.t", "origin.t[*]", "origin.n[*].x", "origin.a", "[origin.a]", "[origin.a, origin.b]", "[]", `["k", true]`, "[origin.t]", `["${origin.a}!"]`, "[fingerprint(origin.a)]"})
	checkUntil(t, &short, func(t *rapid.T) {
		src := "concat(" + strings.Join(rapid.SliceOfN(parts, 1, 3).Draw(t, "parts"), ", ") + ")"
		x, diags := Compile(parse(src), env, WantAny)
		if diags.HasErrors() {
			t.Skip(src)
		}
		c := x.(*compiled)
		origin := genDoc(t)
		texts := rapid.SliceOfN(rapid.SampledFrom(words), 0, 3).Draw(t, "t")
		origin["t"], origin["n"] = texts, []any{map[string]any{"x": genScalar(t)}}
		doc := rawScope(raw(t, origin))
		if p, ok := c.plan.(*concatPlan); ok {
			all := true
			for _, list := range p.lists {
				b, err := list.append(nil, c, newFrame(doc, c.names, nil))
				all = all && err == nil && plainList(b)
			}
			if all {
				short++
			}
		}
		agree(t, src, c, doc)
	})
	if short == 0 {
		t.Error("no list was made the short way")
	}
}

// checkUntil checks a property until some example has counted, ten times at most:
// few examples may all miss what it is about.
func checkUntil(t *testing.T, counted *int, property func(*rapid.T)) {
	t.Helper()
	for round := 0; round == 0 || *counted == 0 && round < 10; round++ {
		rapid.Check(t, property)
	}
}

// agree compares an expression's plan with the general way.
func agree(t *rapid.T, src string, x *compiled, doc rawScope) {
	got, err := x.Doc(doc)
	general := *x
	general.plan = &computedPlan{x: x.root}
	slow, slowErr := general.Doc(doc)
	if string(got.Bytes) != string(slow.Bytes) || fmt.Sprint(err) != fmt.Sprint(slowErr) {
		t.Fatalf("%s on %s: %s, %v; the general way: %s, %v", src, doc, got.Bytes, err, slow.Bytes, slowErr)
	}
}

// genBool makes a condition.
func genBool(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 11).Draw(t, "node")
	switch {
	case kind == 10:
		return genText(t, 2) + rapid.SampledFrom([]string{" == ", " != "}).Draw(t, "op") + genText(t, 2)
	case kind == 11:
		return "length(" + genLong.Draw(t, "long") + ")" + rapid.SampledFrom([]string{" == ", " != ", " < ", " >= "}).Draw(t, "op") + rapid.SampledFrom([]string{"0", "2", "2.5"}).Draw(t, "n")
	}
	if depth == 0 && kind > 5 {
		kind -= 5
	}
	switch kind {
	case 0:
		return genPath.Draw(t, "path")
	case 1:
		return genPath.Draw(t, "path") + rapid.SampledFrom([]string{" == ", " != "}).Draw(t, "op") + genLiteral(t)
	case 2:
		return genLiteral(t) + rapid.SampledFrom([]string{" == ", " != "}).Draw(t, "op") + genPath.Draw(t, "path")
	case 3:
		op := rapid.SampledFrom([]string{" < ", " <= ", " > ", " >= "}).Draw(t, "op")
		number := rapid.SampledFrom([]string{"0", "0.1", "0.85", "1", "-3.5", "0.30000000000000004", "0.3"}).Draw(t, "number")
		if rapid.Bool().Draw(t, "side") {
			return genPath.Draw(t, "path") + op + number
		}
		return number + op + genPath.Draw(t, "path")
	case 4:
		return genPath.Draw(t, "path") + rapid.SampledFrom([]string{" == ", " != "}).Draw(t, "op") + genPath.Draw(t, "other")
	case 5:
		var list []string
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			list = append(list, genLiteral(t))
		}
		return "contains([" + strings.Join(list, ", ") + "], " + genPath.Draw(t, "path") + ")"
	case 6:
		return "!(" + genBool(t, depth-1) + ")"
	case 7:
		return "(" + genBool(t, depth-1) + ") == (" + genBool(t, depth-1) + ")"
	}
	op := rapid.SampledFrom([]string{" && ", " || "}).Draw(t, "op")
	return "(" + genBool(t, depth-1) + ")" + op + "(" + genBool(t, depth-1) + ")"
}

// plainHCL evaluates as HCL and cty do by themselves.
func plainHCL(t *rapid.T, e hcl.Expression, env *Env, origin []byte) (cty.Value, hcl.Diagnostics) {
	ty, err := ctyjson.ImpliedType(origin)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ctyjson.Unmarshal(origin, ty)
	if err != nil {
		t.Fatal(err)
	}
	return e.Value(&hcl.EvalContext{Variables: map[string]cty.Value{"origin": v}, Functions: env.Functions})
}

type rawScope []byte

func (s rawScope) Lookup(dag.Name) (dag.Doc, error) { return dag.NewDoc(s), nil }

// TestThreeWaysAgree: what a closure decides, the general way decides; and what
// that decides, HCL and cty decide, where they decide. HCL wants a bool on the
// side of && and || that is not asked too. The reverse need not hold: HCL
// forgets other errors of one side.
func TestThreeWaysAgree(t *testing.T) {
	env := cardEnv()
	decided := 0
	rapid.Check(t, func(t *rapid.T) {
		src := genBool(t, 3)
		e, diags := hclsyntax.ParseExpression([]byte(src), "p.hcl", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatalf("%s: %s", src, diags.Error())
		}
		x, diags := Compile(e, env, WantBool)
		if diags.HasErrors() {
			t.Skip(src) // two constants that are never equal
		}
		doc := raw(t, genDoc(t))
		c := x.(*compiled)
		whole, wholeErr := c.Bool(rawScope(doc), nil)
		general := *c
		general.fast = nil
		slow, slowErr := general.Bool(rawScope(doc), nil)
		if whole != slow || fmt.Sprint(wholeErr) != fmt.Sprint(slowErr) {
			t.Fatalf("%s on %s: %t, %v; the general way %t, %v", src, doc, whole, wholeErr, slow, slowErr)
		}
		if slowErr != nil {
			return
		}
		decided++
		want, diags := plainHCL(t, e, env, doc)
		if diags.HasErrors() {
			if strings.Contains(diags.Error(), "bool") {
				return
			}
			t.Fatalf("%s on %s: %t; HCL: %s", src, doc, slow, diags.Error())
		}
		if want.Type() != cty.Bool || want.True() != slow {
			t.Fatalf("%s on %s: %t; HCL: %#v", src, doc, slow, want)
		}
	})
	if decided == 0 {
		t.Error("no condition was decided")
	}
}

// TestValuesAgree: what is computed is what HCL and cty compute.
func TestValuesAgree(t *testing.T) {
	env := cardEnv()
	templates := []string{`[%s, %s]`, `{ x = %s, "y" = %s }`, `concat([%s], [%s])`, `[for v in [%s, %s] : v]`, `"a${%s}-${%s}"`, `%s + %s`, `%s * %s`, `[%s, origin.o][1].a == %s`, `length([%s, %s])`, `jsonencode([%s, %s])`}
	rapid.Check(t, func(t *rapid.T) {
		src := fmt.Sprintf(rapid.SampledFrom(templates).Draw(t, "template"), genPath.Draw(t, "a"), genPath.Draw(t, "b"))
		e := parse(src)
		x, diags := Compile(e, env, WantAny)
		if diags.HasErrors() {
			t.Fatalf("%s: %s", src, complaints(diags))
		}
		doc := raw(t, genDoc(t))
		c := *x.(*compiled)
		c.plan = &computedPlan{c.root, fastText(c.root)} // nothing is spliced: HCL would have rewritten it
		got, err := c.Doc(rawScope(doc))
		if err != nil {
			return
		}
		want, diags := plainHCL(t, e, env, doc)
		if diags.HasErrors() {
			t.Fatalf("%s on %s: %s; HCL: %s", src, doc, got.Bytes, diags.Error())
		}
		wantBytes, err := Canonical(want)
		if err != nil || string(wantBytes) != string(got.Bytes) {
			t.Fatalf("%s on %s: %s; HCL: %s, %v", src, doc, got.Bytes, wantBytes, err)
		}
	})
}

// TestNumbersCompareAsCty: over decimals that lie close together.
func TestNumbersCompareAsCty(t *testing.T) {
	ops := map[string]func(a, b cty.Value) cty.Value{
		"==": cty.Value.Equals, "!=": func(a, b cty.Value) cty.Value { return a.Equals(b).Not() },
		"<": cty.Value.LessThan, "<=": cty.Value.LessThanOrEqualTo, ">": cty.Value.GreaterThan, ">=": cty.Value.GreaterThanOrEqualTo,
	}
	env := cardEnv()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64Range(-1e6, 1e6).Draw(t, "f")
		doc, err := canon.Canonical(nil, []byte(strconv.FormatFloat(f, 'g', -1, 64)))
		if err != nil {
			t.Fatal(err)
		}
		literal := rapid.SampledFrom([]string{
			strconv.FormatFloat(f, 'f', -1, 64),
			strconv.FormatFloat(f, 'f', 30, 64),
			strconv.FormatFloat(math.Nextafter(f, 1e9), 'f', -1, 64),
			strconv.FormatFloat(math.Nextafter(f, -1e9), 'f', -1, 64),
			strconv.FormatFloat(f, 'f', -1, 64) + ".00000000000000000000000000000001",
		}).Draw(t, "literal")
		if strings.Count(literal, ".") > 1 {
			literal = strings.Replace(literal, ".00000", "00000", 1)
		}
		a, b := cty.MustParseNumberVal(string(doc)), cty.MustParseNumberVal(literal)
		for op, want := range ops {
			x, diags := Compile(parse("origin "+op+" "+literal), env, WantBool)
			if diags.HasErrors() {
				t.Fatal(complaints(diags))
			}
			got, err := x.Bool(rawScope(doc), nil)
			if err != nil || got != want(a, b).True() {
				t.Fatalf("%s %s %s: %t, %v", doc, op, literal, got, err)
			}
		}
	})
}

// TestSplicingIsCanonical: a spliced document is what canonicalising the same
// document put together naively gives.
func TestSplicingIsCanonical(t *testing.T) {
	env := cardEnv()
	env.Names[dag.Name{Root: "origin"}] = &Type{kind: kindObject, props: map[string]*Type{"a": Any(), "b": Any(), "c": Any(), "d": Any(), "o": Any(), "l": Any()}, rest: Any()}
	rapid.Check(t, func(t *rapid.T) {
		doc := genDoc(t)
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"k", "a", "é", "z\U0001f600", "z\uffff", "q\"", "B"}), 1, 5, rapid.ID).Draw(t, "names")
		parts := map[string]any{"origin": doc, "origin.a": doc["a"], "origin.l": doc["l"], "origin.o": doc["o"], `origin["z\uffff"]`: doc["z\uffff"], `true ? origin.o.a : 1`: doc["o"].(map[string]any)["a"], `{ y = origin.b, x = 1 }`: map[string]any{"y": doc["b"], "x": 1}, `[origin.c, "t"]`: []any{doc["c"], "t"}}
		var srcs []string
		for src := range parts {
			srcs = append(srcs, src)
		}
		want := map[string]any{}
		src := "{"
		for _, name := range names {
			part := rapid.SampledFrom(sortedTexts(srcs)).Draw(t, "part")
			src += hclText(name) + " = " + part + ", "
			want[name] = parts[part]
		}
		x, diags := Compile(parse(src+"}"), env, WantDocument)
		if diags.HasErrors() {
			t.Fatalf("%s: %s", src, complaints(diags))
		}
		got, err := x.Doc(rawScope(raw(t, doc)))
		if err != nil || string(got.Bytes) != string(raw(t, want)) {
			t.Fatalf("%s: %s, %v; want %s", src, got.Bytes, err, raw(t, want))
		}
	})
}

func sortedTexts(s []string) []string {
	out := append([]string(nil), s...)
	for i := range out {
		for j := i + 1; j < len(out); j++ {
			if out[j] < out[i] {
				out[i], out[j] = out[j], out[i]
			}
		}
	}
	return out
}

// TestScanFindsWhatDecodingFinds compares the reader of raw bytes with a decoder.
func TestScanFindsWhatDecodingFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := genDoc(t)
		b := raw(t, doc)
		for name, v := range doc {
			got, ok := member(b, quote(name))
			if !ok || string(got) != string(raw(t, v)) {
				t.Fatalf("%q in %s: %s, %t", name, b, got, ok)
			}
		}
		if got, ok := member(b, quote("none")); !ok || got != nil {
			t.Fatalf("none in %s: %s, %t", b, got, ok)
		}
		v, err := view(b)
		if err != nil {
			t.Fatal(err)
		}
		ty, _ := ctyjson.ImpliedType(b)
		want, err := ctyjson.Unmarshal(b, ty)
		if err != nil || !v.RawEquals(want) {
			t.Fatalf("%s: %#v, want %#v (%v)", b, v, want, err)
		}
	})
}
