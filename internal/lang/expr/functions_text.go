package expr

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/penstock-run/penstock/internal/text"
	"github.com/penstock-run/penstock/internal/weburl"
)

// ownText are the functions that, called with a path, read the document's own
// text and not the view of it.
var ownText = map[string]func(string) string{
	"sha256":      func(s string) string { return hexSum([]byte(s)) },
	"fingerprint": text.Fingerprint,
}

// textFunc is a function of one text.
func textFunc(result cty.Type, f func(string) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type:   function.StaticReturnType(result),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return f(args[0].AsString())
		},
	})
}

// twoTexts is a function of two texts.
func twoTexts(first, second string, result cty.Type, f func(a, b string) cty.Value) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: first, Type: cty.String}, {Name: second, Type: cty.String}},
		Type:   function.StaticReturnType(result),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return f(args[0].AsString(), args[1].AsString()), nil
		},
	})
}

func plainText(f func(string) string) func(string) (cty.Value, error) {
	return func(s string) (cty.Value, error) { return cty.StringVal(f(s)), nil }
}

func counting(f func(string) int) func(string) (cty.Value, error) {
	return func(s string) (cty.Value, error) { return cty.NumberIntVal(int64(f(s))), nil }
}

func failing(f func(string) (string, error)) func(string) (cty.Value, error) {
	return func(s string) (cty.Value, error) {
		out, err := f(s)
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return cty.StringVal(out), nil
	}
}

var (
	normalizeFunc   = textFunc(cty.String, plainText(text.Normalize))
	fingerprintFunc = textFunc(cty.String, plainText(text.Fingerprint))
	sha256Func      = textFunc(cty.String, plainText(ownText["sha256"]))
	wordsFunc       = textFunc(cty.Number, counting(text.Words))
	runesFunc       = textFunc(cty.Number, counting(func(s string) int { return len([]rune(s)) }))

	urlKeyFunc            = textFunc(cty.String, failing(weburl.Key))
	registrableDomainFunc = textFunc(cty.String, failing(weburl.Domain))

	tokensFunc = textFunc(cty.List(cty.String), func(s string) (cty.Value, error) { return textList(text.Tokens(s)), nil })

	levenshteinFunc = twoTexts("a", "b", cty.Number, func(a, b string) cty.Value {
		return cty.NumberIntVal(int64(text.Levenshtein(a, b)))
	})
	containsPhraseFunc = twoTexts("text", "phrase", cty.Bool, func(a, b string) cty.Value {
		return cty.BoolVal(text.ContainsPhrase(a, b))
	})
)

func textList(texts []string) cty.Value {
	if len(texts) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	vals := make([]cty.Value, len(texts))
	for i, s := range texts {
		vals[i] = cty.StringVal(s)
	}
	return cty.ListVal(vals)
}

// jaccardFunc takes texts or lists of words. The quotient is taken at cty's
// precision; a gate's check compares in integers.
var jaccardFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "a", Type: cty.DynamicPseudoType}, {Name: "b", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var sides [2][]string
		for i, arg := range args {
			if arg.Type() == cty.String {
				sides[i] = text.Tokens(arg.AsString())
				continue
			}
			texts, err := textsOf(arg)
			if err != nil {
				return cty.NilVal, function.NewArgError(i, err)
			}
			sides[i] = texts
		}
		inter, union := text.Jaccard(sides[0], sides[1])
		if union == 0 {
			return cty.Zero, nil
		}
		return cty.NumberIntVal(int64(inter)).Divide(cty.NumberIntVal(int64(union))), nil
	},
})

// textsOf are the texts of a list; anything else in it is an error.
func textsOf(list cty.Value) ([]string, error) {
	t := list.Type()
	if !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		return nil, fmt.Errorf("a text or a list of texts is needed, and this is a %s", valueKind(list))
	}
	var texts []string
	for it := list.ElementIterator(); it.Next(); {
		_, v := it.Element()
		if v.IsNull() || v.Type() != cty.String {
			return nil, fmt.Errorf("a list of texts is needed, and element %d is a %s", len(texts), valueKind(v))
		}
		texts = append(texts, v.AsString())
	}
	return texts, nil
}
