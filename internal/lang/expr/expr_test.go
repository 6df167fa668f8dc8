package expr

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func TestBool(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want bool
	}{
		{`true`, true},
		{`item.ok`, true},
		{`!item.ok`, false},
		{`item.cat == "music"`, true},
		{`item.cat != "music"`, false},
		{`"history" == item.cat`, false},
		{`contains(local.mme, item.cat)`, true},
		{`contains(local.mme, item.cat) == (artifact.repairer != null)`, false},
		{`item.n > 0.1`, false},
		{`item.n >= 0.1`, true},
		{`0.1 <= item.n`, true},
		{`0.1 < item.n`, false},
		{`item.n == 0.1`, true},
		{`item.n * 3 == 0.3`, true}, // 512 bits, not 53
		{`item.note == null`, true},
		{`item.note != null && item.note == "x"`, false},
		{`item.level == null || item.level == "hard"`, true},
		{`artifact.repairer == null || artifact.repairer.q == "x"`, true},
		{`artifact.repairer != null ? artifact.repairer.ok : item.ok`, true},
		{`artifact.verifier.p >= local.limit`, true},
		{`status == "accept" && !artifact.verifier.found`, true},
		{`origin.cat == item.cat`, true},
		{`origin.batch == 1`, true},
		{`origin.batch == "1"`, false},
		{`origin.nul == null`, true},
		{`origin.e == 1000000000000000000000`, true},
		{`origin.deep.a[0].b == 1`, true},
		{`origin.deep["a"][1].b == "two"`, true},
		{`origin.deep.a[item.ok ? 0 : 1].b == 1`, true},
		{`origin.deep == origin.deep`, true},
		{`length(item.w) == 3 && item.w[1] == "Händel"`, true},
		{`get(origin, "deep.a.1.b", "none") == "two"`, true},
		{`get(origin, "deep.x.y", "none") == "none"`, true},
		{`get(origin, "nul", 5) > 4`, true},
		{`get(artifact.repairer, "q", "none") == "none"`, true},
		{`origin.s > 2`, true}, // HCL's own: a text that is a number
		{`false || item.ok`, true},
		{`var.name == "y" || item.ok`, true}, // another run may say y
		{`contains(["y"], var.name) || !item.ok`, false},
		{`var.name == item.cat || item.ok`, true},
		{`pass == 1`, true},
		{`[for s in artifact.verifier.sources : s.url if s.quote != null] == ["http://a.example/1"]`, true},
		{`length([for s in artifact.verifier.sources : s.quote if s.quote == null]) == 1`, true},
		{`artifact.verifier.sources[*].url == ["http://a.example/1", "http://b.example"]`, true},
	} {
		t.Run(tt.src, func(t *testing.T) {
			got, err := compile(t, tt.src, WantBool).Bool(cards, nil)
			if err != nil || got != tt.want {
				t.Errorf("got %t, %v", got, err)
			}
		})
	}
}

func TestDoc(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{`item`, `{"a":"Bach","cat":"music","n":0.1,"ok":true,"q":"Who?","w":["Mozart","Händel","Haydn"]}`},
		{`{ z = item.a, card = item.w, a = 1.50, "é" = null }`, `{"a":1.5,"card":["Mozart","Händel","Haydn"],"z":"Bach","é":null}`},
		{`[item.a, item.note]`, `["Bach",null]`},
		{`artifact.repairer`, ``},
		{`item.note`, ``},
		{`artifact.repairer == null ? item.a : artifact.repairer.w`, `"Bach"`},
		{`concat([item.a], item.w)`, `["Bach","Mozart","Händel","Haydn"]`},
		{`artifact.verifier.sources[*].url`, `["http://a.example/1","http://b.example"]`},
		{`artifact.verifier.sources[*].quote`, `["x",null]`},
		{`artifact.verifier.sources[*]`, `[{"quote":"x","url":"http://a.example/1"},{"url":"http://b.example"}]`},
		{`setintersection(["Mozart", "Bach"], item.w)`, `["Mozart"]`},
		{`setintersection(["Mozart", "Bach"], local.empty)`, `[]`},
		{`{ for i, w in item.w : w => i }`, `{"Haydn":2,"Händel":1,"Mozart":0}`},
		{`origin.deep.a[1]`, `{"b":"two"}`},
		{`1 / 3`, `0.3333333333333333`},
		{`-0`, `0`},
		{`var.name`, `"x"`},
		{`{ (var.name) = 1, "${var.name}y" = 2 }`, `{"x":1,"xy":2}`},
	} {
		t.Run(tt.src, func(t *testing.T) {
			got, err := compile(t, tt.src, WantDocument).Doc(cards)
			if err != nil || string(got.Bytes) != tt.want {
				t.Errorf("got %s, %v", got.Bytes, err)
			}
			if want := dag.Sum(got.Bytes); !got.IsNull() && got.Digest != want {
				t.Errorf("the digest is %s", got.Digest)
			}
		})
	}
}

func TestText(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{`item.q`, "Who?"},
		{`"${origin.cat}/${origin.diff}/${origin.batch}"`, "music/easy/1"},
		{`"${origin.batch}"`, "1"},
		{`"${item.ok}"`, "true"},
		{`artifact.repairer == null ? "none" : artifact.repairer.q`, "none"},
		{`file("a.txt")`, "hello"},
		{`sha256(item.a)`, "cf44623c9c550c9cc784d9100b997eede064b52ddf1ec0fcf152e40f233d2772"},
	} {
		t.Run(tt.src, func(t *testing.T) {
			got, err := compile(t, tt.src, WantText).Text(cards)
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestPlainNameKeepsItsDocument(t *testing.T) {
	doc := dag.Doc{Digest: dag.Sum([]byte("x"))} // a reference whose bytes were let go
	got, err := compile(t, `item`, WantDocument).Doc(fixed{doc})
	if diff := cmp.Diff(doc, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

type fixed struct{ doc dag.Doc }

func (f fixed) Lookup(dag.Name) (dag.Doc, error) { return f.doc, nil }

// TestOrderOfReading: where names stand in a document, and whether they are in
// canonical order, does not matter to what is read.
func TestOrderOfReading(t *testing.T) {
	x := compile(t, `[origin.b, origin.c, origin.a, origin.d.x, origin.c, origin.e == null ? 1 : 2]`, WantDocument)
	for _, text := range []string{
		`{"a":1,"b":2,"c":3,"d":{"x":4},"e":null}`,
		`{"e":null,"d":{"x":4},"c":3,"b":2,"a":1}`,
		`{"c":3,"e":null,"a":1,"d":{"x":4},"b":2}`,
	} {
		got, err := x.Doc(fixed{dag.NewDoc([]byte(text))})
		if err != nil || string(got.Bytes) != `[2,3,1,4,3,1]` {
			t.Errorf("%s: %s, %v", text, got.Bytes, err)
		}
	}
	_, err := x.Doc(fixed{dag.NewDoc([]byte(`{"a":1,"b":2,"c":3,"d":{"y":4},"e":null}`))})
	if want := `E_EXPR: p.hcl:1,41: origin.d has no attribute "x" here. If it may be absent, write get(origin.d, "x", DEFAULT). Did you mean "y"?`; err == nil || err.Error() != want {
		t.Error(err)
	}
}

// TestAddresses: what the schema names and the document lacks is null, which an
// address may be and a text may not.
func TestAddresses(t *testing.T) {
	env := cardEnv()
	env.Names[dag.Name{Root: "item"}] = Object(map[string]*Type{"sources": List(Object(map[string]*Type{"url": Nullable(String())}))})
	scope := fixed{dag.NewDoc([]byte(`{"sources":[{"url":"http://a.example/"},{"url":null},{}]}`))}
	for want, message := range map[Want]string{
		WantAddresses: "",
		WantTexts:     "E_EXPR: p.hcl:1,1: Element 1 of item.sources[*].url is null here, and a list of texts is needed.",
	} {
		x, diags := Compile(parse(`item.sources[*].url`), env, want)
		if diags.HasErrors() {
			t.Fatal(complaints(diags))
		}
		got, err := x.Doc(scope)
		if message == "" {
			if err != nil || string(got.Bytes) != `["http://a.example/",null,null]` {
				t.Errorf("%s, %v", got.Bytes, err)
			}
		} else if err == nil || err.Error() != message {
			t.Errorf("%s, %v; want %s", got.Bytes, err, message)
		}
	}
}
