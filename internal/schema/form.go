package schema

import (
	"math"
	"math/big"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/penstock-run/penstock/internal/canon"
)

// known are the keywords that a form holds a value to, and those that say nothing
// about it. One that is not among them, be it of a later version of the library,
// means that there is no form.
var known = []string{
	"DraftVersion", "Location", "ID", "Anchor", "Title", "Description", "Default", "Comment", "ReadOnly", "WriteOnly", "Examples", "Deprecated",
	"Bool", "Ref", "Types", "Enum", "Const", "AllOf", "AnyOf",
	"MaxProperties", "MinProperties", "Required", "Properties", "AdditionalProperties",
	"MinItems", "MaxItems", "UniqueItems", "Items2020", "MinLength", "MaxLength", "Pattern",
	"Maximum", "Minimum", "ExclusiveMaximum", "ExclusiveMinimum",
}

var unbounded = bounds{0, math.MaxInt}

func newForm() *form {
	return &form{properties: unbounded, elements: unbounded, length: unbounded}
}

// forms makes the forms of schemas, each once: a schema may refer to itself.
type forms struct {
	made     map[*jsonschema.Schema]*form
	patterns map[string]*pattern
	lost     bool // a keyword has no form
}

// formOf gives the form of a schema; nil: it asks for more than forms know.
func formOf(s *jsonschema.Schema) *form {
	fs := forms{made: map[*jsonschema.Schema]*form{}, patterns: map[string]*pattern{}}
	f := fs.of(s)
	if fs.lost {
		return nil
	}
	asked := map[*form]bool{}
	for _, f := range fs.made {
		if f.loops(asked) {
			return nil
		}
	}
	return f
}

// loops reports whether a value would be held to f again before anything of it is
// read: then there would be no end to it, or none that is worth waiting for. asked has
// the forms that were looked at, true while they are being looked at.
func (f *form) loops(asked map[*form]bool) bool {
	if open, known := asked[f]; known {
		return open
	}
	asked[f] = true
	for _, of := range slices.Concat(append(f.ofAny, f.ofAll)...) {
		if of.loops(asked) {
			return true
		}
	}
	asked[f] = false
	return false
}

func (fs *forms) of(s *jsonschema.Schema) *form {
	if s == nil || fs.lost {
		return nil
	}
	if f := fs.made[s]; f != nil {
		return f
	}
	f := newForm()
	fs.made[s] = f
	if s.DraftVersion != 2020 || !onlyKnown(s) || s.Const != nil && s.Enum != nil || len(s.Required) > 64 {
		fs.lost = true
		return nil
	}
	f.never = s.Bool != nil && !*s.Bool
	if s.Types != nil {
		for _, name := range s.Types.ToStrings() {
			f.kinds |= kindsByName[name]
		}
	}
	if s.Ref != nil {
		f.ofAll = append(f.ofAll, fs.of(s.Ref))
	}
	for _, of := range s.AllOf {
		f.ofAll = append(f.ofAll, fs.of(of))
	}
	if len(s.AnyOf) > 0 {
		any := make([]*form, len(s.AnyOf))
		for i, of := range s.AnyOf {
			any[i] = fs.of(of)
		}
		f.ofAny = append(f.ofAny, any)
	}
	fs.values(f, s)
	fs.objects(f, s)
	f.elements, f.items, f.distinct = boundsOf(s.MinItems, s.MaxItems), fs.of(s.Items2020), s.UniqueItems
	f.length = boundsOf(s.MinLength, s.MaxLength)
	if s.Pattern != nil {
		text := s.Pattern.String()
		if fs.patterns[text] == nil {
			fs.patterns[text] = newPattern(s.Pattern)
		}
		f.pattern = fs.patterns[text]
	}
	fs.numbers(f, s)
	asks := *f
	asks.ofAll, asks.ofAny = nil, nil
	f.bare = len(f.ofAll)+len(f.ofAny) > 0 && reflect.DeepEqual(&asks, newForm())
	return f
}

// onlyKnown reports whether every keyword that a schema has is known.
func onlyKnown(s *jsonschema.Schema) bool {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.IsExported() && !v.Field(i).IsZero() && !slices.Contains(known, field.Name) {
			return false
		}
	}
	return true
}

func boundsOf(least, most *int) bounds {
	b := unbounded
	if least != nil {
		b.least = *least
	}
	if most != nil {
		b.most = *most
	}
	return b
}

// values takes the lists of values: canonical values are equal where their bytes are.
func (fs *forms) values(f *form, s *jsonschema.Schema) {
	var list []any
	switch {
	case s.Const != nil:
		list = []any{*s.Const}
	case s.Enum != nil:
		list = s.Enum.Values
	default:
		return
	}
	f.given = [][]byte{}
	for _, v := range list {
		raw, err := json.Marshal(v)
		if err == nil {
			raw, err = canon.Canonical(nil, raw)
		}
		if err != nil {
			fs.lost = true
			return
		}
		f.given = append(f.given, raw)
	}
}

func (fs *forms) objects(f *form, s *jsonschema.Schema) {
	f.properties = boundsOf(s.MinProperties, s.MaxProperties)
	switch others := s.AdditionalProperties.(type) {
	case nil:
	case bool:
		if !others {
			f.others = &form{never: true}
		}
	case *jsonschema.Schema:
		f.others = fs.of(others)
	default:
		fs.lost = true
	}
	f.names = map[string]int{}
	for name, of := range s.Properties {
		f.names[name] = len(f.props)
		f.props = append(f.props, prop{form: fs.of(of)})
	}
	for i, name := range s.Required {
		n, has := f.names[name]
		if !has {
			n = len(f.props)
			f.names[name] = n
			f.props = append(f.props, prop{form: f.others})
		}
		f.props[n].required = 1 << i
		f.required |= 1 << i
	}
	if len(f.names) == 0 {
		f.names = nil
	}
}

// numbers takes the bounds of a number where they are whole.
func (fs *forms) numbers(f *form, s *jsonschema.Schema) {
	if s.Minimum == nil && s.Maximum == nil && s.ExclusiveMinimum == nil && s.ExclusiveMaximum == nil {
		return
	}
	const far = 1 << 53
	n := &numberBounds{-far, far}
	for _, bound := range []struct {
		at    *big.Rat
		into  *int64
		inner int64 // what is added to a bound that is not included
		tight func(a, b int64) int64
	}{
		{s.Minimum, &n.least, 0, maxOf}, {s.ExclusiveMinimum, &n.least, 1, maxOf},
		{s.Maximum, &n.most, 0, minOf}, {s.ExclusiveMaximum, &n.most, -1, minOf},
	} {
		if bound.at == nil {
			continue
		}
		if !bound.at.IsInt() || !bound.at.Num().IsInt64() {
			fs.lost = true
			return
		}
		*bound.into = bound.tight(*bound.into, bound.at.Num().Int64()+bound.inner)
	}
	f.number = n
}

func maxOf(a, b int64) int64 { return max(a, b) }
func minOf(a, b int64) int64 { return min(a, b) }
