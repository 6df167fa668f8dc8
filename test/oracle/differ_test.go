package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// differences are where two documents differ: "path: ours, theirs", sorted.
func differences(at string, ours, theirs any) []string {
	a, isObject := ours.(map[string]any)
	b, isToo := theirs.(map[string]any)
	if isObject && isToo {
		var all []string
		names := maps.Clone(a)
		maps.Copy(names, b)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			_, in := a[name]
			_, too := b[name]
			switch path := at + "." + name; {
			case !in:
				all = append(all, fmt.Sprintf("%s: absent, %s", path, text(b[name])))
			case !too:
				all = append(all, fmt.Sprintf("%s: %s, absent", path, text(a[name])))
			default:
				all = append(all, differences(path, a[name], b[name])...)
			}
		}
		return all
	}
	l, isList := ours.([]any)
	m, isListToo := theirs.([]any)
	if isList && isListToo && len(l) == len(m) {
		var all []string
		for i := range l {
			all = append(all, differences(fmt.Sprintf("%s[%d]", at, i), l[i], m[i])...)
		}
		return all
	}
	if reflect.DeepEqual(ours, theirs) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s, %s", at, text(ours), text(theirs))}
}

func text(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		return err.Error() // of what was decoded from JSON
	}
	return string(b)
}
