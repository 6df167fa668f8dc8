package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/internal/diag"
)

// bounds is how many arguments a function takes; max 0: any number.
type bounds struct{ min, max int }

func (b bounds) String() string {
	switch {
	case b.max == 0:
		return fmt.Sprintf("at least %d arguments", b.min)
	case b.min == 1 && b.max == 1:
		return "1 argument"
	case b.min == b.max:
		return fmt.Sprintf("%d arguments", b.min)
	}
	return fmt.Sprintf("%d to %d arguments", b.min, b.max)
}

// arity lists every function of the templates. All are pure.
var arity = map[string]bounds{
	"json": {1, 1}, "pretty": {1, 1}, "get": {3, 3}, "index": {2, 0}, "len": {1, 1},
	"eq": {2, 0}, "ne": {2, 2}, "lt": {2, 2}, "le": {2, 2}, "gt": {2, 2}, "ge": {2, 2},
	"and": {1, 0}, "or": {1, 0}, "not": {1, 1},
}

func functionNames() []string { return slices.Sorted(maps.Keys(arity)) }

func (t *Template) functions() template.FuncMap {
	return template.FuncMap{
		"_at": t.at, "_print": t.print, "_range": t.ranger(new(int)),
		"json": canonicalText, "pretty": prettyText, "get": get, "index": index, "len": length,
		"eq": equalToAny, "ne": func(a, b any) (bool, error) { same, err := equal(a, b); return !same, err },
		"lt": ordered(func(n int) bool { return n < 0 }), "le": ordered(func(n int) bool { return n <= 0 }),
		"gt": ordered(func(n int) bool { return n > 0 }), "ge": ordered(func(n int) bool { return n >= 0 }),
	}
}

// decode reads a document into text, bool, nil, float64, []any and
// map[string]any. A double holds every number that strict JSON lets pass.
func decode(document []byte) (any, error) {
	var v any
	if err := json.Unmarshal(document, &v); err != nil {
		return nil, err
	}
	return v, nil
}

// at looks a path up in a value; what is not there is an error with its place.
// The path stands at offset in the source, a dot before each name.
func (t *Template) at(offset int, label string, base any, path ...string) (any, error) {
	current := base
	for i, name := range path {
		parent := label + "." + strings.Join(path[:i], ".")
		if label != "" && i == 0 {
			parent = label
		}
		object, ok := current.(map[string]any)
		if !ok {
			if current == nil {
				return nil, errorAt(t.source, offset, "%s is null, so it has no member %q", subject(parent), name)
			}
			return nil, errorAt(t.source, offset, "%s is %s, so it has no member %q", subject(parent), kind(current), name)
		}
		value, ok := object[name]
		if !ok {
			reason := fmt.Sprintf("%s has no member %q", subject(parent), name)
			if did := diag.DidYouMean(name, slices.Sorted(maps.Keys(object))); did != "" {
				reason += "; " + strings.TrimSuffix(lowerFirst(did), ".")
			}
			return nil, errorAt(t.source, offset, "%s", reason)
		}
		current = value
		offset += 1 + len(name)
	}
	return current, nil
}

func subject(path string) string {
	if path == "." {
		return "the document at this place"
	}
	return path
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "a bool"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// print turns the value of an action into text; only what reads the same in
// every language passes without json.
func (t *Template) print(offset int, action string, value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case nil:
		return "", errorAt(t.source, offset, "%s is null: test it with if, or write json to show it as null", action)
	case []any, map[string]any:
		return "", errorAt(t.source, offset, "%s is %s: write {{ json %s }}", action, kind(v), inner(action))
	}
	if _, ok := toNumber(value); ok {
		return canonicalText(value)
	}
	return "", errorAt(t.source, offset, "%s cannot be printed", action)
}

// ranger lets lists and objects pass to a range, and null as an empty list,
// while all ranges of one rendering come to no more than maxRounds.
func (t *Template) ranger(rounds *int) func(offset int, action string, value any) (any, error) {
	return func(offset int, action string, value any) (any, error) {
		switch v := value.(type) {
		case nil:
		case []any:
			*rounds += len(v)
		case map[string]any:
			*rounds += len(v)
		default:
			return nil, errorAt(t.source, offset, "%s is %s: only a list or an object can be ranged over", action, kind(value))
		}
		if *rounds > maxRounds {
			return nil, errorAt(t.source, offset, "the ranges come to more than %d rounds", maxRounds)
		}
		return value, nil
	}
}

// inner puts an action that is more than one word in parentheses.
func inner(action string) string {
	if strings.ContainsAny(action, " |") {
		return "(" + action + ")"
	}
	return action
}

func canonicalText(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	value := jsontext.Value(b)
	if err := value.Canonicalize(); err != nil {
		return "", err
	}
	return string(value), nil
}

func prettyText(v any) (string, error) {
	s, err := canonicalText(v)
	if err != nil {
		return "", err
	}
	value := jsontext.Value(s)
	if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
		return "", err
	}
	return string(value), nil
}

// get looks up a path of names and gives the default where one of them is
// absent or null.
func get(v any, path string, fallback any) any {
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return fallback
		}
		if v, ok = object[name]; !ok || v == nil {
			return fallback
		}
	}
	return v
}

// index looks up one place after the other: a number in a list, a name in an object.
func index(v any, keys ...any) (any, error) {
	for _, key := range keys {
		switch container := v.(type) {
		case []any:
			n, ok := toNumber(key)
			if !ok {
				return nil, fmt.Errorf("a list is indexed by a number, not by %s", kind(key))
			}
			if i := int(n); float64(i) != n || i < 0 || i >= len(container) {
				return nil, fmt.Errorf("the list has %d elements, counted from 0: there is no %v", len(container), n)
			}
			v = container[int(n)]
		case map[string]any:
			name, ok := key.(string)
			if !ok {
				return nil, fmt.Errorf("an object is indexed by a name, not by %s", kind(key))
			}
			if v, ok = container[name]; !ok {
				return nil, fmt.Errorf("the object has no member %q", name)
			}
		default:
			return nil, fmt.Errorf("%s has nothing to index", kind(v))
		}
	}
	return v, nil
}

// length counts characters, elements or members.
func length(v any) (int, error) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), nil
	case []any:
		return len(v), nil
	case map[string]any:
		return len(v), nil
	}
	return 0, fmt.Errorf("%s has no length", kind(v))
}

// toNumber takes the numbers of documents and those written in a template alike.
func toNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	}
	return 0, false
}

func equalToAny(first any, others ...any) (bool, error) {
	for _, other := range others {
		same, err := equal(first, other)
		if err != nil || same {
			return same, err
		}
	}
	return false, nil
}

// equal compares texts, numbers and bools; null is equal to null alone.
// Values of two kinds are never equal, which is nearly always a mistake.
func equal(a, b any) (bool, error) {
	if a == nil || b == nil {
		return a == b, nil
	}
	if x, ok := toNumber(a); ok {
		if y, ok := toNumber(b); ok {
			return x == y, nil
		}
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return x == y, nil
		}
	case bool:
		if y, ok := b.(bool); ok {
			return x == y, nil
		}
	}
	return false, fmt.Errorf("%s cannot be compared with %s", kind(a), kind(b))
}

func ordered(holds func(int) bool) func(a, b any) (bool, error) {
	return func(a, b any) (bool, error) {
		if x, ok := toNumber(a); ok {
			if y, ok := toNumber(b); ok {
				switch {
				case x < y:
					return holds(-1), nil
				case x > y:
					return holds(1), nil
				}
				return holds(0), nil
			}
		}
		x, isText := a.(string)
		y, isAlso := b.(string)
		if isText && isAlso {
			return holds(strings.Compare(x, y)), nil
		}
		return false, fmt.Errorf("%s is neither before nor after %s", kind(a), kind(b))
	}
}
