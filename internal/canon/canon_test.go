package canon

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	for _, test := range []struct{ name, raw, want string }{
		{"white space", " {\n\t\"b\" : 1 ,\r\n\"a\":[ true , null ] } \n", `{"a":[true,null],"b":1}`},
		{"names by UTF-16 units", `{"\ufb33":1,"\ud83d\ude00":2,"€":3,"\r":4,"ö":5,"1":6}`, "{\"\\r\":4,\"1\":6,\"ö\":5,\"€\":3,\"😀\":2,\"\ufb33\":1}"},
		{"least escapes", `"\u0041\/\u001f\u00e9\u2028<&>\b"`, "\"A/\\u001fé\u2028<&>\\b\""},
		{"text is not normalised", `"e\u0301"`, "\"e\u0301\""},
		{"numbers", `[1.0,1e2,-0,0.1e-6,333333333.33333329,1E30,4.50,2e-3,1e-27]`, `[1,100,0,1e-7,333333333.3333333,1e+30,4.5,0.002,1e-27]`},
		{"a fraction is rounded", `0.1000000000000000055`, `0.1`},
		{"the last exact integer", `9007199254740992`, `9007199254740992`},
		{"a large integer that a double holds", `18446744073709551616`, `18446744073709552000`},
		{"the same in its own form", `18446744073709552000`, `18446744073709552000`},
		{"an integer past 1e21", `1000000000000000000000`, `1e+21`},
		{"an underflow is zero", `1e-400`, `0`},
		{"null", `null`, `null`},
		{"the deepest nesting", strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)},
		{"brackets in a string do not nest", `"` + strings.Repeat("[", 2000) + `\\\"{1e999"`, `"` + strings.Repeat("[", 2000) + `\\\"{1e999"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Canonical([]byte("kept "), []byte(test.raw))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("kept "+test.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if err := Valid([]byte(test.raw)); err != nil {
				t.Errorf("Valid: %v", err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	deep := strings.Repeat(`{"a":`, MaxDepth) + "[]" + strings.Repeat("}", MaxDepth)
	for _, test := range []struct {
		name, raw string
		want      Error
	}{
		{"empty", " \n", Error{2, 2, 1, "", "empty; a JSON document was expected"}},
		{"byte order mark", "\ufeff{}", Error{0, 1, 1, "", "a byte order mark; save the file as UTF-8 without one"}},
		{"duplicate name", "{\"a\":1,\n \"b\":{\"ü\":1,\"\\u00fc\":2}}", Error{21, 2, 13, "/b/ü", `the name "ü" stands twice in one object`}},
		{"trailing data", "{\"a\":1}\n{}", Error{8, 2, 1, "", "something follows the document; one document was expected"}},
		{"trailing comma", `[1,2,]`, Error{4, 1, 5, "", "a comma with nothing after it; take it away"}},
		{"bad UTF-8", "{\"k\":\"ab\xff\"}", Error{8, 1, 9, "/k", "invalid UTF-8"}},
		{"lone surrogate", `["\ud800"]`, Error{2, 1, 3, "/0", `\ud800 is half of a surrogate pair; no UTF-8 text can hold it`}},
		{"surrogates in the wrong order", `"\udc00\ud800"`, Error{1, 1, 2, "", `\udc00 is half of a surrogate pair; no UTF-8 text can hold it`}},
		{"NaN", `{"score":NaN}`, Error{9, 1, 10, "/score", "NaN is not JSON; write null or a string"}},
		{"minus infinity", `[-Infinity]`, Error{2, 1, 3, "/0", "Infinity is not JSON; write null or a string"}},
		{"a double overflows", "{\"x\":[0,\n1e400]}", Error{9, 2, 1, "/x/1", "the number 1e400 is beyond what a double can hold; write it as a string"}},
		{"a double overflows without exponent", "-1" + strings.Repeat("0", 400), Error{0, 1, 1, "", "the number -1000000000000000000…0000000000 is beyond what a double can hold; write it as a string"}},
		{"an integer past 2^53", `{"id":9007199254740993}`, Error{6, 1, 7, "/id", "the integer 9007199254740993 cannot be held exactly (a double would make it 9007199254740992); write it as a string"}},
		{"a negative one", `-18446744073709551615`, Error{0, 1, 1, "", "the integer -18446744073709551615 cannot be held exactly (a double would make it -18446744073709552000); write it as a string"}},
		{"nesting", deep, Error{5000, 1, 5001, strings.Repeat("/a", MaxDepth), "nested deeper than 1,000 levels"}},
		{"nesting past the reader's own limit", strings.Repeat("[", 20000), Error{1000, 1, 1001, strings.Repeat("/0", MaxDepth), "nested deeper than 1,000 levels"}},
		{"cut off", `{"a":[1,`, Error{8, 1, 9, "/a", "the text ends before the document does"}},
		{"single quotes", `{'a':1}`, Error{1, 1, 2, "", "invalid character '\\'' at start of value"}},
		{"a name that is no string", `{1:2}`, Error{1, 1, 2, "", "object member name must be a string"}},
		{"leading zero", `[01]`, Error{2, 1, 3, "", "invalid character '1' after array element (expecting ',' or ']')"}},
		{"control character", "\"a\tb\"", Error{2, 1, 3, "", "invalid character '\\t' in string (expecting non-control character)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Canonical([]byte("kept"), []byte(test.raw))
			if string(got) != "kept" {
				t.Errorf("dst came back as %q", got)
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error is %v", err)
			}
			if diff := cmp.Diff(test.want, *e); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(err, Valid([]byte(test.raw))); diff != "" {
				t.Errorf("Valid says something else: %s", diff)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	_, err := Canonical(nil, []byte("{\"a\":\n[1e999]}"))
	want := "line 2, column 2 (/a/0): the number 1e999 is beyond what a double can hold; write it as a string"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	e := &Error{Line: 1, Column: 1, Pointer: strings.Repeat("/ö", 1000), Reason: "r"}
	if n := len(e.Error()); n > 200 {
		t.Errorf("a deep pointer makes a message of %d bytes", n)
	}
}

func TestQuote(t *testing.T) {
	for _, test := range []struct{ s, want string }{
		{"", `""`},
		{"a\"b\\c\n\u0001</ü\u2028", `"a\"b\\c\n\u0001</ü` + "\u2028\""},
		{"a\xffb", "\"a\ufffdb\""},
	} {
		if got := string(Quote([]byte("x"), test.s)); got != "x"+test.want {
			t.Errorf("Quote(%q) = %s, want x%s", test.s, got, test.want)
		}
	}
}

// The other implementation of RFC 8785 is the oracle for numbers: each double
// in its shortest form, and what it makes of longer ones.
func TestNumbersAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if math.IsNaN(value) || math.IsInf(value, 0) {
			t.Skip("not a JSON number")
		}
		format := rapid.SampledFrom([]byte{'g', 'e'}).Draw(t, "format")
		digits := rapid.IntRange(17, 25).Draw(t, "digits")
		raw := append(strconv.AppendFloat([]byte{'['}, value, format, digits, 64), ']')
		got, err := Canonical(nil, raw)
		if err != nil {
			t.Skip("an integer that is not exact")
		}
		want, err := jcs.Transform(raw)
		if err != nil {
			t.Fatalf("%s: the oracle refuses it: %v", raw, err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The fast way is a second reader, so it is held against the general one on
// documents of every shape that it takes, and just beyond.
func TestFastAgainstGeneral(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(jsonValue(3).Draw(t, "document"))
		out, ok := fast([]byte("kept"), raw)
		if !ok {
			return
		}
		taken++
		want, err := general([]byte("kept"), raw)
		if err != nil {
			t.Fatalf("%s: the fast way takes what is refused: %v", raw, err)
		}
		if diff := cmp.Diff(string(want), string(out)); diff != "" {
			t.Fatalf("%s: %s", raw, diff)
		}
	})
	if taken == 0 {
		t.Error("the fast way took none of the documents")
	}
}

// jsonValue draws JSON text, some of it wrong.
func jsonValue(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		space := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
		text := rapid.Custom(func(t *rapid.T) string {
			parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", " ", "!", "#", "long enough to fill words of eight", `\n`, `\"`, `\\`, `\/`, `\u0041`, "ü", "€", "😀", "\x7f", "\xff", "\x1f"}), 0, 4).Draw(t, "parts")
			return `"` + strings.Join(parts, "") + `"`
		})
		kinds := 3
		if depth > 0 {
			kinds = 5
		}
		switch rapid.IntRange(1, kinds).Draw(t, "kind") {
		case 1:
			return text.Draw(t, "text")
		case 2:
			return rapid.SampledFrom([]string{"0", "-0", "1", "-17", "999999999999999", "9007199254740993", "0.5", "-12.250", "0.000001", "0.0000001", "1.0", "0.0", "01", "1.", ".5", "-", "1e5", "123456.7890123", "+1"}).Draw(t, "number")
		case 3:
			return rapid.SampledFrom([]string{"true", "false", "null", "nul", "NaN", ""}).Draw(t, "word")
		case 4:
			return "[" + strings.Join(rapid.SliceOfN(jsonValue(depth-1), 0, 3).Draw(t, "elements"), space.Draw(t, "s")+","+space.Draw(t, "s")) + "]"
		}
		var members []string
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			members = append(members, text.Draw(t, "name")+space.Draw(t, "s")+":"+space.Draw(t, "s")+jsonValue(depth-1).Draw(t, "value"))
		}
		return space.Draw(t, "s") + "{" + strings.Join(members, ",") + "}" + space.Draw(t, "s")
	})
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5,-0,1e21,"\ud83d\ude00"],"b":{"c":null}}`, `[1e400]`, `9007199254740993`, "\ufeff1", `{"a":1,"a":2}`,
		`"\ud800"`, "\"\xff\"", `1 2`, ``, `[[[[`, `{"\\":"\\\""}`, `18446744073709551616`, `-1E-2`, `[01]`, `{"":{"":""}}`, `"\u0000"`,
		`{"b":{"d":1,"c":[]},"a":"x\n\"\\","a ":0.50,"a!":-12.25,"aa":"ü 12345678"}`, `{"b":1,"a":2,"b":3}`, `-0.0`, "{\"\x7f\":\"\x7f\"}", `[1.,2]`, `[-]`, `[0.1e1]`, `{"a":1}x`, `"\/"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := Canonical(nil, raw)
		if invalid := Valid(raw); (invalid == nil) != (err == nil) {
			t.Fatalf("Canonical says %v, Valid says %v", err, invalid)
		}
		general, err2 := general(nil, raw)
		if diff := cmp.Diff(string(general), string(got)); diff != "" || (err == nil) != (err2 == nil) {
			t.Fatalf("the fast way and the general one differ: %s (%v, %v)", diff, err, err2)
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(raw) || e.Line < 1 || e.Column < 1 || e.Reason == "" {
				t.Fatalf("no place: %#v", err)
			}
			if e.Reason == "not one strict JSON document" {
				t.Fatalf("refused, and locate does not see why: %q", raw)
			}
			return
		}
		again, err := Canonical(nil, got)
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("not a fixed point: %s then %s (%v)", got, again, err)
		}
		if bytes.ContainsRune(got, '\n') {
			t.Fatalf("a canonical document must be one line: %q", got)
		}
		want, err := jcs.Transform(raw)
		if err != nil {
			t.Skip("the oracle refuses more")
		}
		if !bytes.Equal(want, got) {
			t.Fatalf("oracle %s, got %s", want, got)
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	plain := []byte(`{"key":"i-000001","n":17,"score":0.731,"text":"` + strings.Repeat("the quick brown fox ", 98) + `","done":false}`)
	var rich []byte
	rich = append(rich, '{')
	for i := range 75 {
		if i > 0 {
			rich = append(rich, ',')
		}
		rich = append(rich, `"f`+strconv.Itoa(i)+`":{"v":`+strconv.Itoa(i*37)+`,"w":"ab cd"}`...)
	}
	rich = append(rich, '}')
	for _, doc := range []struct {
		name string
		raw  []byte
	}{{"plain", plain}, {"rich", rich}} {
		b.Run("general/"+doc.name, func(b *testing.B) {
			b.SetBytes(int64(len(doc.raw)))
			var buf []byte
			for b.Loop() {
				buf, _ = general(buf[:0], doc.raw)
			}
		})
		b.Run(doc.name, func(b *testing.B) {
			b.SetBytes(int64(len(doc.raw)))
			var buf []byte
			for b.Loop() {
				var err error
				if buf, err = Canonical(buf[:0], doc.raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
