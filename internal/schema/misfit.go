package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Misfit says where a document does not fit its schema, and how: the deepest
// cause that helps, since "anyOf failed at the top" helps nobody.
type Misfit struct {
	Pointer string // JSON Pointer of the value; empty: the whole document
	Reason  string // what is there and what is expected
	More    int    // how many other places do not fit either
}

func (m *Misfit) Error() string {
	at := m.Pointer
	if at == "" {
		at = "the whole document"
	}
	s := at + ": " + m.Reason
	switch {
	case m.More == 1:
		s += " (and 1 more)"
	case m.More > 1:
		s += fmt.Sprintf(" (and %d more)", m.More)
	}
	return s
}

// explain picks one cause of a misfit and words it.
func explain(err *jsonschema.ValidationError) *Misfit {
	leaves := causes(err)
	sort.SliceStable(leaves, func(i, j int) bool { return before(leaves[i], leaves[j]) })
	m := &Misfit{Pointer: pointer(leaves[0].InstanceLocation), Reason: reason(leaves[0])}
	seen := map[string]bool{m.Pointer: true}
	for _, leaf := range leaves[1:] {
		if p := pointer(leaf.InstanceLocation); !seen[p] {
			seen[p] = true
			m.More++
		}
	}
	return m
}

// before orders causes: deeper ones first, then by place and wording, because
// the library visits properties in the random order of a map.
func before(a, b *jsonschema.ValidationError) bool {
	if la, lb := len(a.InstanceLocation), len(b.InstanceLocation); la != lb {
		return la > lb
	}
	if pa, pb := pointer(a.InstanceLocation), pointer(b.InstanceLocation); pa != pb {
		return pa < pb
	}
	return reason(a) < reason(b)
}

// causes are the errors that have no cause themselves. Of alternatives only
// the one that was most likely meant is followed.
func causes(err *jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(err.Causes) > 0 {
			if meant := likeliest(err); meant != nil {
				return causes(meant)
			}
			return []*jsonschema.ValidationError{err}
		}
	}
	if len(err.Causes) == 0 {
		return []*jsonschema.ValidationError{err}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range err.Causes {
		all = append(all, causes(cause)...)
	}
	return all
}

// likeliest is the alternative that the document was meant to fit: the only one
// that it is not ruled out of by a type, or by a const or an enum at its top or
// one level below (a "kind" property); or else the only one whose type it has.
// Nil where that names none or several.
func likeliest(err *jsonschema.ValidationError) *jsonschema.ValidationError {
	top := len(err.InstanceLocation)
	if meant := only(err.Causes, func(leaf *jsonschema.ValidationError) bool {
		return wrongType(leaf, top) || (wrongValue(leaf) && len(leaf.InstanceLocation) <= top+1)
	}); meant != nil {
		return meant
	}
	return only(err.Causes, func(leaf *jsonschema.ValidationError) bool { return wrongType(leaf, top) })
}

// only is the one alternative that no leaf rules out.
func only(alternatives []*jsonschema.ValidationError, rulesOut func(*jsonschema.ValidationError) bool) *jsonschema.ValidationError {
	var meant *jsonschema.ValidationError
	for _, alternative := range alternatives {
		if slices.ContainsFunc(causes(alternative), rulesOut) {
			continue
		}
		if meant != nil {
			return nil
		}
		meant = alternative
	}
	return meant
}

func wrongType(leaf *jsonschema.ValidationError, depth int) bool {
	_, ok := leaf.ErrorKind.(*kind.Type)
	return ok && len(leaf.InstanceLocation) == depth
}

func wrongValue(leaf *jsonschema.ValidationError) bool {
	switch leaf.ErrorKind.(type) {
	case *kind.Const, *kind.Enum:
		return true
	}
	return false
}

func pointer(location []string) string {
	var sb strings.Builder
	for _, token := range location {
		sb.WriteByte('/')
		sb.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	return sb.String()
}

// reason words one cause: what is there, and what is expected.
func reason(err *jsonschema.ValidationError) string {
	switch k := err.ErrorKind.(type) {
	case *kind.Type:
		return fmt.Sprintf("expected %s, found %s", article(k.Want...), article(k.Got))
	case *kind.Const:
		return fmt.Sprintf("expected %s, found %s", quoted(k.Want), quoted(k.Got))
	case *kind.Enum:
		return fmt.Sprintf("expected one of %s, found %s", list(k.Want), quoted(k.Got))
	case *kind.Required:
		return "the required " + properties(k.Missing) + " missing"
	case *kind.DependentRequired:
		return fmt.Sprintf("the %s missing, which must be there because %q is", properties(k.Missing), k.Prop)
	case *kind.AdditionalProperties:
		sort.Strings(k.Properties)
		return "the " + properties(k.Properties) + " not allowed here"
	case *kind.FalseSchema:
		return "no value is allowed here"
	case *kind.PropertyNames:
		return fmt.Sprintf("the name of the property %q is not allowed", k.Property)
	case *kind.MinLength:
		return fmt.Sprintf("expected at least %s, found %d", count(k.Want, "character"), k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("expected at most %s, found %d", count(k.Want, "character"), k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("expected at least %s, found %d", count(k.Want, "element"), k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("expected at most %s, found %d", count(k.Want, "element"), k.Got)
	case *kind.AdditionalItems:
		return fmt.Sprintf("the last %s not allowed", count(k.Count, "element"))
	case *kind.MinProperties:
		return fmt.Sprintf("expected at least %d properties, found %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("expected at most %d properties, found %d", k.Want, k.Got)
	case *kind.UniqueItems:
		return fmt.Sprintf("the elements %d and %d are equal, and must not be", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "no element is of the form that at least one must have"
	case *kind.MinContains:
		return fmt.Sprintf("%d elements are of the form that at least %d must have", len(k.Got), k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("%d elements are of the form that at most %d may have", len(k.Got), k.Want)
	case *kind.Pattern:
		return fmt.Sprintf("expected a text that matches %s, found %s", k.Want, quoted(k.Got))
	case *kind.Format:
		if k.Want == "regex" {
			return fmt.Sprintf("%s is no pattern of RE2, which has no look-ahead and no back-references: %s", quoted(k.Got), oneLine(k.Err.Error()))
		}
		return fmt.Sprintf("expected a text of the format %s, found %s", k.Want, quoted(k.Got))
	case *kind.Minimum:
		return fmt.Sprintf("expected at least %s, found %s", number(k.Want), number(k.Got))
	case *kind.Maximum:
		return fmt.Sprintf("expected at most %s, found %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("expected more than %s, found %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("expected less than %s, found %s", number(k.Want), number(k.Got))
	case *kind.MultipleOf:
		return fmt.Sprintf("expected a multiple of %s, found %s", number(k.Want), number(k.Got))
	case *kind.AnyOf:
		return fmt.Sprintf("it fits none of the %d forms that it may have", len(err.Causes))
	case *kind.OneOf:
		if len(k.Subschemas) > 1 {
			return fmt.Sprintf("it fits the forms %d and %d at once, and must fit exactly one", k.Subschemas[0]+1, k.Subschemas[1]+1)
		}
		return fmt.Sprintf("it fits none of the %d forms that it may have", len(err.Causes))
	case *kind.Not:
		return "it has a form that is excluded"
	}
	text := err.Error()
	if _, after, found := strings.Cut(text, "': "); found {
		text = after
	}
	return oneLine(text)
}

func article(types ...string) string {
	words := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			words[i] = "null"
		case "array", "integer", "object":
			words[i] = "an " + t
		default:
			words[i] = "a " + t
		}
	}
	return strings.Join(words, " or ")
}

func properties(names []string) string {
	quotes := make([]string, len(names))
	for i, name := range names {
		quotes[i] = strconv.Quote(name)
	}
	if len(quotes) == 1 {
		return "property " + quotes[0] + " is"
	}
	return "properties " + strings.Join(quotes, ", ") + " are"
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func number(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func list(values []any) string {
	const shown = 12
	var parts []string
	for i, v := range values {
		if i == shown {
			parts = append(parts, fmt.Sprintf("… (%d in all)", len(values)))
			break
		}
		parts = append(parts, quoted(v))
	}
	return strings.Join(parts, ", ")
}

// quoted is a value as JSON, cut short: a message is one line for people.
func quoted(v any) string {
	const longest = 60
	var sb strings.Builder
	e := json.NewEncoder(&sb) // the standard library's knows its own json.Number
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	text := strings.TrimSpace(sb.String())
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}
