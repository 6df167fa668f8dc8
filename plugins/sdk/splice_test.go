package sdk_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/plugins/sdk"
)

func TestSet(t *testing.T) {
	for _, test := range []struct {
		raw, name string
		value     any
		want      string
	}{
		{`{}`, "a", 1, `{"a":1}`},
		{`{ }`, "a", "x\n", `{ "a":"x\n"}`},
		{`{"b":2}`, "a", true, `{"b":2,"a":true}`},
		{`{"a":1,"b":2}`, "a", []byte(`[1]`), `{"a":[1],"b":2}`},
		{`{"a":1,"b":2}`, "b", nil, `{"a":1,"b":null}`},
		{`{"a":{"b":1},"b":"}"}`, "b", 0, `{"a":{"b":1},"b":0}`},
		{`{"\u0061":1}`, "a", 2, `{"a":2}`},
		{`{"a\"":1,"c":"\\"}`, `a"`, 2, `{"a\"":2,"c":"\\"}`},
		{` { "a" : [ "]", {"x":"\"}"} ] , "b" : 1 } `, "a", 1.5, ` { "a":1.5 , "b" : 1 } `},
		{`{"a":1}`, "n", struct{ X int }{3}, `{"a":1,"n":{"X":3}}`},
	} {
		got, err := sdk.Set([]byte(test.raw), test.name, test.value)
		if err != nil || string(got) != test.want {
			t.Errorf("Set(%s, %q): %s, %v; want %s", test.raw, test.name, got, err, test.want)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	for _, test := range []struct{ raw, want string }{
		{``, `set "a": want a JSON object, have ""`},
		{`[1]`, `set "a": want a JSON object, have "[1]"`},
		{`{"b":1`, `set "a": the JSON ends too early`},
		{`{"b`, `set "a": the JSON ends too early`},
		{`{"b"}`, `set "a": want a colon at offset 4, have "}"`},
		{`{"b":}`, `set "a": want a value at offset 5, have "}"`},
		{`{b:1}`, `set "a": want a string at offset 1, have "b:1}"`},
		{`{"b":1 "c":2}`, `set "a": want a comma or a closing brace at offset 7, have "\"c\":2}"`},
	} {
		if _, err := sdk.Set([]byte(test.raw), "a", 1); err == nil || err.Error() != test.want {
			t.Errorf("Set(%s): %v, want %s", test.raw, err, test.want)
		}
	}
	if _, err := sdk.Set([]byte(`{}`), "a", func() {}); err == nil || !strings.HasPrefix(err.Error(), `member "a": `) {
		t.Error(err)
	}
}

func TestMerge(t *testing.T) {
	got, err := sdk.Merge([]byte(`{"a":1,"b":2}`), []byte(`{"b":{"x":[]},"c":"é"}`))
	if want := `{"a":1,"b":{"x":[]},"c":"é"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if _, err := sdk.Merge([]byte(`{}`), []byte(`3`)); err == nil || err.Error() != `merge: want a JSON object, have "3"` {
		t.Error(err)
	}
}

// Set does what decoding, setting and encoding does.
func TestSetLikeAMap(t *testing.T) {
	text := rapid.StringMatching(`[a-c"\\{}\[\],: é]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOf(text, rapid.OneOf(text.AsAny(), rapid.Int().AsAny(), rapid.SliceOf(text).AsAny(), rapid.MapOf(text, text).AsAny())).Draw(t, "object")
		name := text.Draw(t, "name")
		value := text.Draw(t, "value")
		raw, err := json.Marshal(object, json.Deterministic(true), jsontext.SpaceAfterComma(rapid.Bool().Draw(t, "spaced")))
		if err != nil {
			t.Fatal(err)
		}
		got, err := sdk.Set(raw, name, value)
		if err != nil {
			t.Fatal(err)
		}
		object[name] = value
		want, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Whatever Set is given, it neither panics nor makes JSON of what was none.
func FuzzSet(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"a":"\\"}`, `{"a":[{}],"b":"}"}`, `{"a"`, ` {"\u0061" : 1 } `} {
		f.Add([]byte(seed), "a")
	}
	f.Fuzz(func(t *testing.T, raw []byte, name string) {
		got, err := sdk.Set(raw, name, 1)
		if err != nil {
			return
		}
		if jsontext.Value(raw).IsValid() && !jsontext.Value(got).IsValid() {
			t.Errorf("%q became %q", raw, got)
		}
	})
}
