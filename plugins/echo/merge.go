package echo

import (
	"maps"
	"math"
	"reflect"
	"slices"
)

// alone are keywords of which two cannot stand side by side.
var alone = [][]string{{"$ref"}, {"anyOf"}, {"oneOf"}, {"if", "then", "else"}}

// merge is a schema that wants what both want, as far as one set of keywords
// can say it; the instance is checked against the schema itself afterwards.
func merge(a, b map[string]any) map[string]any {
	var waiting []any
	for _, group := range alone {
		if !has(a, group[0]) || !has(b, group[0]) {
			continue
		}
		second := map[string]any{}
		for _, keyword := range group {
			if has(b, keyword) {
				second[keyword] = b[keyword]
			}
		}
		waiting = append(waiting, second)
		b = without(b, group...)
	}
	out := make(map[string]any, len(a)+len(b))
	maps.Copy(out, a)
	for keyword, theirs := range b {
		if ours, both := out[keyword]; both {
			theirs = mergeKeyword(keyword, ours, theirs)
		}
		out[keyword] = theirs
	}
	if len(waiting) > 0 {
		all, _ := out["allOf"].([]any)
		out["allOf"] = append(slices.Clone(all), waiting...)
	}
	return out
}

func mergeKeyword(keyword string, ours, theirs any) any {
	switch keyword {
	case "properties", "patternProperties", "$defs":
		x, _ := ours.(map[string]any)
		y, _ := theirs.(map[string]any)
		out := make(map[string]any, len(x)+len(y))
		maps.Copy(out, x)
		for name, theirs := range y {
			if ours, ok := out[name]; ok {
				theirs = conjunction(ours, theirs)
			}
			out[name] = theirs
		}
		return out
	case "required", "allOf":
		x, _ := ours.([]any)
		y, _ := theirs.([]any)
		return append(slices.Clone(x), y...)
	case "enum":
		return intersection(ours, theirs)
	case "type":
		return types(ours, theirs)
	case "items", "additionalProperties", "contains":
		return conjunction(ours, theirs)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains":
		return extreme(ours, theirs, math.Max)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return extreme(ours, theirs, math.Min)
	}
	return theirs
}

func extreme(ours, theirs any, pick func(a, b float64) float64) any {
	x, isNumber := ours.(float64)
	y, isAlso := theirs.(float64)
	if isNumber && isAlso {
		return pick(x, y)
	}
	return theirs
}

func intersection(ours, theirs any) any {
	x, _ := ours.([]any)
	y, _ := theirs.([]any)
	both := []any{}
	for _, v := range x {
		if slices.ContainsFunc(y, func(w any) bool { return reflect.DeepEqual(v, w) }) {
			both = append(both, v)
		}
	}
	return both
}

func types(ours, theirs any) any {
	list := func(t any) []any {
		if l, ok := t.([]any); ok {
			return l
		}
		return []any{t}
	}
	both := []any{}
	for _, t := range list(ours) {
		switch {
		case slices.Contains(list(theirs), t):
			both = append(both, t)
		case t == "number" && slices.Contains(list(theirs), any("integer")):
			both = append(both, "integer")
		case t == "integer" && slices.Contains(list(theirs), any("number")):
			both = append(both, "integer")
		}
	}
	if len(both) == 1 {
		return both[0]
	}
	return both
}
