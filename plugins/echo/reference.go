package echo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// resolve follows a reference into the schema itself.
func (g *generator) resolve(ref any) (map[string]any, error) {
	text, _ := ref.(string)
	fragment, ok := strings.CutPrefix(text, "#")
	if !ok {
		return nil, fmt.Errorf("the reference %q leads out of the schema", text)
	}
	current := g.root
	if fragment != "" && !strings.HasPrefix(fragment, "/") {
		current = anchor(g.root, fragment)
	} else if fragment != "" {
		for step := range strings.SplitSeq(fragment[1:], "/") {
			step = strings.NewReplacer("~1", "/", "~0", "~").Replace(unescape(step))
			switch c := current.(type) {
			case map[string]any:
				current = c[step]
			case []any:
				if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(c) {
					current = c[i]
				} else {
					current = nil
				}
			default:
				current = nil
			}
		}
	}
	switch target := current.(type) {
	case map[string]any:
		return target, nil
	case bool:
		return map[string]any{"allOf": []any{target}}, nil
	}
	return nil, fmt.Errorf("the reference %q leads nowhere", text)
}

// unescape undoes the percent signs of a URI fragment.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func anchor(schema any, name string) any {
	switch s := schema.(type) {
	case map[string]any:
		if s["$anchor"] == name {
			return s
		}
		for _, key := range slices.Sorted(maps.Keys(s)) {
			if found := anchor(s[key], name); found != nil {
				return found
			}
		}
	case []any:
		for _, element := range s {
			if found := anchor(element, name); found != nil {
				return found
			}
		}
	}
	return nil
}
