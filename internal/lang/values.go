package lang

import (
	"fmt"
	"math"
	"math/big"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

// value evaluates an attribute that must be known when the pipeline is loaded.
// It reports false where the attribute is absent or was complained of.
func (b *body) value(name string) (cty.Value, bool) {
	e := b.expr(name)
	if e == nil {
		return cty.NilVal, false
	}
	v, ok := b.l.constant(e)
	b.ok = b.ok && ok
	return v, ok
}

// typed is value, of one primitive type: nothing is converted, so that a
// number where a text belongs is seen.
func (b *body) typed(name string, want cty.Type) (cty.Value, bool) {
	v, ok := b.value(name)
	if !ok {
		return v, false
	}
	return v, b.isPlain(b.expr(name).Range(), name, v, want)
}

// isPlain checks the one boundary: known, not null, not sensitive, of the type.
func (b *body) isPlain(at hcl.Range, name string, v cty.Value, want cty.Type) bool {
	switch {
	case v.ContainsMarked():
		b.fail(at, sensitiveValue, fmt.Sprintf("The value of %s is sensitive. A sensitive value may stand in the config block of a provider and in the connection of a corpus, nowhere else.", name))
	case v.IsNull():
		b.fail(at, wrongType, fmt.Sprintf("The value of %s is null. Give it %s, or leave it out.", name, article(want)))
	case !v.IsWhollyKnown():
		b.fail(at, wrongType, fmt.Sprintf("The value of %s is not known when the pipeline is loaded.", name))
	case want != cty.NilType && v.Type() != want:
		b.fail(at, wrongType, sentence(fmt.Sprintf("The value of %s must be %s; this is %s.", name, article(want), article(v.Type())), unquoted(v, want)))
	case want == cty.Number && v.AsBigFloat().IsInf():
		b.fail(at, wrongType, fmt.Sprintf("The value of %s is infinite: a division by zero gives that.", name))
	default:
		return true
	}
	return false
}

// unquoted is how a value is written that is a text for its quotes alone.
func unquoted(v cty.Value, want cty.Type) string {
	if v.Type() == cty.String && v.AsString() != "" {
		if plain, err := convert.Convert(v, want); err == nil && want != cty.String && plain.IsKnown() && !plain.IsNull() {
			return "Write it without quotes: " + v.AsString()
		}
	}
	if want == cty.String && v.Type().IsPrimitiveType() {
		if text, err := convert.Convert(v, cty.String); err == nil {
			return fmt.Sprintf("Write it in quotes: %q", text.AsString())
		}
	}
	return ""
}

// article names a type in the words of the language.
func article(t cty.Type) string {
	switch {
	case t == cty.String:
		return "a text"
	case t == cty.Number:
		return "a number"
	case t == cty.Bool:
		return "true or false"
	case t.IsObjectType() || t.IsMapType():
		return "an object"
	case t.IsTupleType() || t.IsListType() || t.IsSetType():
		return "a list"
	case t == cty.NilType || t == cty.DynamicPseudoType:
		return "a value"
	}
	return t.FriendlyName()
}

// text is a text that is known when the pipeline is loaded, "" where absent.
func (b *body) text(name string) string {
	v, ok := b.typed(name, cty.String)
	if !ok {
		return ""
	}
	return v.AsString()
}

// required is text that may not be empty.
func (b *body) required(name string) string {
	v, ok := b.typed(name, cty.String)
	if !ok {
		return ""
	}
	if v.AsString() == "" {
		b.fail(b.expr(name).Range(), emptyText, fmt.Sprintf("The value of %s is empty. Write something between the quotes.", name))
	}
	return v.AsString()
}

// word is a text out of a closed list.
func (b *body) word(name string, words ...string) string {
	v, ok := b.value(name)
	if !ok {
		return ""
	}
	if plain, marks := v.Unmark(); len(marks) == 0 && plain.IsKnown() && !plain.IsNull() && plain.Type() != cty.String {
		b.fail(b.expr(name).Range(), wrongType, fmt.Sprintf("The value of %s is one of the texts %s; this is %s.", name, quoted(words), article(v.Type())))
		return ""
	}
	if !b.isPlain(b.expr(name).Range(), name, v, cty.String) {
		return ""
	}
	s := v.AsString()
	if !slices.Contains(words, s) {
		b.fail(b.expr(name).Range(), unknownWord, sentence(fmt.Sprintf("`%s` cannot be %q.", name, s), diag.DidYouMean(s, words)))
		return ""
	}
	return s
}

// flag is a bool, def where absent.
func (b *body) flag(name string, def bool) bool {
	v, ok := b.typed(name, cty.Bool)
	if !ok {
		return def
	}
	return v.True()
}

// count is a whole number from low on, def where absent.
func (b *body) count(name string, low, def int) int {
	v, ok := b.typed(name, cty.Number)
	if !ok {
		return def
	}
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != big.Exact || n < int64(low) || n > math.MaxInt32 {
		b.fail(b.expr(name).Range(), numberOutOfRange, fmt.Sprintf("The value of %s must be a whole number from %d to %d; this is %s.", name, low, math.MaxInt32, v.AsBigFloat().Text('g', 12)))
		return def
	}
	return int(n)
}

// amount is a number that is not negative.
func (b *body) amount(name string) float64 {
	v, ok := b.typed(name, cty.Number)
	if !ok {
		return 0
	}
	f, _ := v.AsBigFloat().Float64()
	if f < 0 || math.IsInf(f, 0) {
		b.fail(b.expr(name).Range(), numberOutOfRange, fmt.Sprintf("The value of %s must be a number that is not below 0, up to 1.7e308; this is %s.", name, v.AsBigFloat().Text('g', 12)))
		return 0
	}
	return f
}

// duration is a text such as "20s".
func (b *body) duration(name string) time.Duration {
	v, ok := b.value(name)
	if !ok {
		return 0
	}
	at := b.expr(name).Range()
	if !v.IsMarked() && v.IsKnown() && v.Type() == cty.Number {
		b.fail(at, badDuration, fmt.Sprintf("The value of %s is a text with a unit. For that many seconds write\n    %s = \"%ss\"", name, name, v.AsBigFloat().Text('g', 12)))
		return 0
	}
	if !b.isPlain(at, name, v, cty.String) {
		return 0
	}
	d, err := time.ParseDuration(v.AsString())
	if err != nil || d < 0 {
		b.fail(at, badDuration, fmt.Sprintf("%q is no duration. Write a number with a unit (ms, s, m, h), such as \"90s\", \"5m\" or \"1h30m\".", v.AsString()))
		return 0
	}
	return d
}

// durationIf is a duration whose absence means something else than none; nil: absent.
func (b *body) durationIf(name string) *time.Duration {
	if !b.has(name) {
		return nil
	}
	d := b.duration(name)
	return &d
}

// texts is a list of texts, nil where absent.
func (b *body) texts(name string) []string {
	v, ok := b.value(name)
	if !ok {
		return nil
	}
	list, ok := b.listOf(b.expr(name), name, v)
	b.ok = b.ok && ok
	return list
}

func (b *body) listOf(e hclsyntax.Expression, name string, v cty.Value) ([]string, bool) {
	at := e.Range()
	if !b.isPlain(at, name, v, cty.NilType) {
		return nil, false
	}
	t := v.Type()
	if !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		b.fail(at, wrongType, fmt.Sprintf("The value of %s must be a list of texts; this is %s. Write it in brackets:\n    %s = [%s]", name, article(t), name, expr.SourceText(at, b.l.files.Source)))
		return nil, false
	}
	list := []string{}
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		if !b.isPlain(elementRange(e, len(list)), "an element of "+name, elem, cty.String) {
			return nil, false
		}
		list = append(list, elem.AsString())
	}
	return list, true
}

// elementRange is where the element i of a list is written, or the whole list.
func elementRange(e hclsyntax.Expression, i int) hcl.Range { return element(e, i).Range() }

func element(e hclsyntax.Expression, i int) hclsyntax.Expression {
	if tuple, ok := e.(*hclsyntax.TupleConsExpr); ok && i < len(tuple.Exprs) {
		return tuple.Exprs[i]
	}
	return e
}

// distinctWords is texts in which none is empty and none stands twice.
func (b *body) distinctWords(name string) []string {
	list := b.texts(name)
	for i, s := range list {
		at := elementRange(b.expr(name), i)
		if s == "" {
			b.fail(at, emptyText, fmt.Sprintf("An element of %s is empty. Write it, or remove it.", name))
		} else if first := slices.Index(list, s); first < i {
			b.ok = false
			b.l.twice(at, elementRange(b.expr(name), first), duplicateWord, fmt.Sprintf("%q stands in %s already.", s, name))
		}
	}
	return list
}

// file is a path relative to the pipeline's directory that does not leave it.
func (b *body) file(name string) string {
	s := b.required(name)
	if s != "" && !inside(s) {
		b.fail(b.expr(name).Range(), pathOutside, fmt.Sprintf("%q leads out of the pipeline's directory. Paths are relative to it, with forward slashes, and stay in it.", s))
		return ""
	}
	return s
}

// inside reports whether a relative path stays where it starts.
func inside(p string) bool {
	clean := path.Clean(p)
	return p != "" && !path.IsAbs(p) && !strings.Contains(p, "\\") && clean != ".." && !strings.HasPrefix(clean, "../") && !strings.ContainsRune(p, 0)
}
