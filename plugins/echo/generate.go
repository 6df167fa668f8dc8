package echo

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

const (
	shallow = 4       // levels down to which optional members are drawn
	deepest = 48      // levels after which a schema counts as one without end
	largest = 200_000 // values of one instance, and characters of one text
)

var (
	errEndless = errors.New("the schema has no instance of a finite depth")
	errLarge   = fmt.Errorf("the schema wants more than %d values in a document, or characters in a text", largest)
)

// generator draws one instance of a schema.
type generator struct {
	root any
	rng  *rand.ChaCha8 // a fixed stream for a seed, on every machine and for good
	made int           // values drawn so far
}

// generate draws the n-th instance for a seed, in canonical form.
func generate(schema any, seed [32]byte, n int) ([]byte, error) {
	seed[0] ^= byte(n)
	g := &generator{root: schema, rng: rand.NewChaCha8(seed)}
	v, err := g.value(schema, 0)
	if err != nil {
		return nil, err
	}
	return canonical(v)
}

// below draws from 0 to n-1.
func (g *generator) below(n int) int { return int(g.rng.Uint64() % uint64(n)) }

func (g *generator) coin() bool { return g.below(2) == 0 }

func (g *generator) value(schema any, depth int) (any, error) {
	if depth > deepest {
		return nil, errEndless
	}
	if g.made++; g.made > largest {
		return nil, errLarge
	}
	s, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			return nil, errors.New("nothing fits the schema false")
		}
		return g.word(), nil
	}
	s, err := g.flatten(s, depth)
	if err != nil {
		return nil, err
	}
	if c, ok := s["const"]; ok {
		return c, nil
	}
	if values, ok := s["enum"].([]any); ok && len(values) > 0 {
		return values[g.below(len(values))], nil
	}
	switch g.kind(s) {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, depth)
	case "number", "integer":
		return g.number(s, g.kindIs(s, "integer"))
	case "boolean":
		return g.coin(), nil
	case "null":
		return nil, nil
	}
	return g.text(s)
}

// flatten resolves references and draws the branches, until what is left says
// itself what it wants.
func (g *generator) flatten(s map[string]any, depth int) (map[string]any, error) {
	for range deepest {
		switch {
		case has(s, "$ref"):
			target, err := g.resolve(s["$ref"])
			if err != nil {
				return nil, err
			}
			s = merge(without(s, "$ref"), target)
		case has(s, "anyOf"):
			s = g.branch(s, "anyOf", depth)
		case has(s, "oneOf"):
			s = g.branch(s, "oneOf", depth)
		case has(s, "if"):
			condition, _ := s["if"].(map[string]any)
			then, _ := s["then"].(map[string]any)
			otherwise, _ := s["else"].(map[string]any)
			s = without(s, "if", "then", "else")
			if g.coin() {
				s = merge(merge(s, condition), then)
			} else {
				s = merge(s, otherwise)
			}
		case has(s, "allOf"): // last: what cannot be merged waits in it
			parts, _ := s["allOf"].([]any)
			s = without(s, "allOf")
			for _, part := range parts {
				if m, ok := part.(map[string]any); ok {
					s = merge(s, m)
				}
			}
		default:
			return s, nil
		}
	}
	return nil, errEndless
}

func (g *generator) branch(s map[string]any, keyword string, depth int) map[string]any {
	branches, _ := s[keyword].([]any)
	s = without(s, keyword)
	var open []map[string]any
	for _, b := range branches {
		if m, ok := b.(map[string]any); ok {
			open = append(open, m)
		}
	}
	if len(open) == 0 {
		return s
	}
	if depth > shallow { // the way out of a recursion is a branch without a reference
		slices.SortStableFunc(open, func(a, b map[string]any) int { return weight(a) - weight(b) })
		for len(open) > 1 && weight(open[len(open)-1]) > weight(open[0]) {
			open = open[:len(open)-1]
		}
	}
	return merge(s, open[g.below(len(open))])
}

// weight guesses how far down a branch goes.
func weight(s map[string]any) int {
	n := 0
	for _, keyword := range []string{"$ref", "properties", "items", "prefixItems", "allOf", "anyOf", "oneOf"} {
		if has(s, keyword) {
			n++
		}
	}
	if has(s, "$ref") {
		n += 10
	}
	return n
}

// kind is the type to draw: one that is declared, else what the keywords are about.
func (g *generator) kind(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			name, _ := t[g.below(len(t))].(string)
			return name
		}
	}
	for _, about := range []struct {
		kind     string
		keywords []string
	}{
		{"object", []string{"properties", "required", "additionalProperties", "patternProperties", "minProperties"}},
		{"array", []string{"items", "prefixItems", "minItems", "contains", "uniqueItems"}},
		{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
	} {
		for _, keyword := range about.keywords {
			if has(s, keyword) {
				return about.kind
			}
		}
	}
	return "string"
}

func (g *generator) kindIs(s map[string]any, kind string) bool {
	if t, ok := s["type"].([]any); ok {
		return slices.Contains(t, any(kind)) && !slices.Contains(t, any("number"))
	}
	return s["type"] == kind
}

func (g *generator) object(s map[string]any, depth int) (any, error) {
	if count(s, "minProperties", 0) > largest {
		return nil, errLarge
	}
	properties, _ := s["properties"].(map[string]any)
	most := count(s, "maxProperties", math.MaxInt)
	names := texts(s["required"])
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !slices.Contains(names, name) && len(names) < most && depth < shallow && properties[name] != false && g.coin() {
			names = append(names, name)
		}
	}
	names = closeUnder(names, s["dependentRequired"])
	least := count(s, "minProperties", 0)
	for _, name := range missing(properties, names) {
		if len(names) < least {
			names = append(names, name)
		}
	}
	for i := 1; len(names) < least; i++ {
		names = append(names, "member"+strconv.Itoa(i))
	}
	object := make(map[string]any, len(names))
	for _, name := range names {
		member, ok := properties[name]
		if !ok {
			member = g.additional(s, name)
		}
		v, err := g.value(member, depth+1)
		if err != nil {
			return nil, err
		}
		object[name] = v
	}
	return object, nil
}

// additional is the schema of a member that properties does not name.
func (g *generator) additional(s map[string]any, name string) any {
	patterns, _ := s["patternProperties"].(map[string]any)
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if matches(pattern, name) {
			return patterns[pattern]
		}
	}
	if rest, ok := s["additionalProperties"]; ok {
		return rest
	}
	return true
}

// closeUnder adds what the names that are there require in turn.
func closeUnder(names []string, dependent any) []string {
	needs, _ := dependent.(map[string]any)
	for i := 0; i < len(names); i++ {
		for _, needed := range texts(needs[names[i]]) {
			if !slices.Contains(names, needed) {
				names = append(names, needed)
			}
		}
	}
	return names
}

func missing(properties map[string]any, names []string) []string {
	var rest []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !slices.Contains(names, name) && properties[name] != false {
			rest = append(rest, name)
		}
	}
	return rest
}

func (g *generator) array(s map[string]any, depth int) (any, error) {
	least := count(s, "minItems", 0)
	contains, wantsSome := s["contains"]
	some := 0
	if wantsSome {
		some = count(s, "minContains", 1)
		least = max(least, some)
	}
	if least > largest {
		return nil, errLarge // before a list of that length is made
	}
	most := count(s, "maxItems", max(least, 3))
	prefix, _ := s["prefixItems"].([]any)
	rest, hasRest := s["items"]
	if !hasRest {
		rest = true
	}
	if rest == false {
		most = min(most, len(prefix))
	}
	length := least
	if depth < shallow && most > least {
		length += g.below(min(most-least, 3) + 1)
		if length == 0 && most > 0 {
			length = 1 // an empty list says little in a test
		}
	}
	list := make([]any, 0, length)
	for len(list) < length {
		element := rest
		if i := len(list); i < len(prefix) {
			element = prefix[i]
		} else if left := length - i; left <= some {
			element = conjunction(rest, contains)
		}
		v, err := g.element(element, list, s["uniqueItems"] == true, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func conjunction(a, b any) any { return map[string]any{"allOf": []any{a, b}} }

// element draws one that is not there yet, where each must be another.
func (g *generator) element(schema any, before []any, unique bool, depth int) (any, error) {
	for range draws {
		v, err := g.value(schema, depth+1)
		if err != nil || !unique {
			return v, err
		}
		bytes, err := canonical(v)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(before, func(old any) bool {
			b, err := canonical(old)
			return err == nil && string(b) == string(bytes)
		}) {
			return v, nil
		}
	}
	return nil, fmt.Errorf("no %d different elements were found", len(before)+1)
}

// number draws a multiple within the bounds; without bounds a small number.
func (g *generator) number(s map[string]any, whole bool) (any, error) {
	step := 0.01
	if whole {
		step = 1
	}
	if m, ok := s["multipleOf"].(float64); ok {
		if !whole || m == math.Trunc(m) {
			step = m
		}
	}
	low, high := bound(s, "minimum", math.Inf(-1)), bound(s, "maximum", math.Inf(1))
	above, under := bound(s, "exclusiveMinimum", math.Inf(-1)), bound(s, "exclusiveMaximum", math.Inf(1))
	first := math.Ceil(math.Max(low, above) / step)
	if first*step <= above || first*step < low {
		first++
	}
	last := math.Floor(math.Min(high, under) / step)
	if last*step >= under || last*step > high {
		last--
	}
	switch {
	case math.IsInf(first, -1) && math.IsInf(last, 1):
		first, last = 0, 100/step
	case math.IsInf(first, -1):
		first = last - 100
	case math.IsInf(last, 1):
		last = first + 100
	}
	if first > last {
		if low, high := math.Max(low, above), math.Min(high, under); !whole && !has(s, "multipleOf") && low <= high {
			return low + (high-low)/2, nil // narrower than a step
		}
		return nil, errors.New("no number lies within the bounds")
	}
	n := first + float64(g.rng.Uint64()%uint64(math.Min(last-first+1, 1<<40)))
	if step == 0.01 { // 29 * 0.01 is not 0.29
		return n / 100, nil
	}
	return n * step, nil
}

func bound(s map[string]any, keyword string, otherwise float64) float64 {
	if n, ok := s[keyword].(float64); ok {
		return n
	}
	return otherwise
}

func count(s map[string]any, keyword string, otherwise int) int {
	if n, ok := s[keyword].(float64); ok && n < math.MaxInt32 {
		return int(n)
	}
	return otherwise
}

func has(s map[string]any, keyword string) bool { _, ok := s[keyword]; return ok }

func texts(v any) []string {
	list, _ := v.([]any)
	var all []string
	for _, element := range list {
		if s, ok := element.(string); ok && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

func without(s map[string]any, keywords ...string) map[string]any {
	s = maps.Clone(s)
	for _, keyword := range keywords {
		delete(s, keyword)
	}
	return s
}
