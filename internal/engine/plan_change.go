package engine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	changesKept = 20  // of one document
	valueShown  = 200 // bytes of a value
	linesDiffed = 2000
)

// attributeChanges compares two configurations: an attribute is named as the
// pipeline names it, and of a text with several lines the lines that changed.
func attributeChanges(part string, was, is jsontext.Value) []Change {
	old, ok := decode(was).(map[string]any)
	now, ok2 := decode(is).(map[string]any)
	if !ok && len(was) > 0 || !ok2 && len(is) > 0 {
		return nil
	}
	var changes []Change
	for _, name := range unionOf(old, now) {
		a, b := old[name], now[name]
		switch {
		case part == "sampling" && name == "base_url": // no part of the action
		case reflect.DeepEqual(a, b):
		default:
			textA, isA := a.(string)
			textB, isB := b.(string)
			if isA && isB && (strings.Contains(textA, "\n") || strings.Contains(textB, "\n")) {
				changes = append(changes, lineChanges(part, name, textA, textB)...)
				continue
			}
			changes = append(changes, Change{Part: part, Path: name, Old: shown(a), New: shown(b)})
		}
	}
	return cutChanges(changes)
}

// documentChanges compares two documents, by JSON Pointers.
func documentChanges(part string, was, is []byte) []Change {
	var changes []Change
	compareValues(decode(was), decode(is), "", func(pointer string, a, b any) {
		changes = append(changes, Change{Part: part, Path: pointer, Old: shown(a), New: shown(b)})
	})
	return cutChanges(changes)
}

func cutChanges(changes []Change) []Change { return changes[:min(len(changes), changesKept)] }

// absent is a value that is not there; null is one that is.
type absent struct{}

func decode(b []byte) any {
	var v any
	if len(b) == 0 || json.Unmarshal(b, &v) != nil {
		return absent{}
	}
	return v
}

// compareValues calls differs for the deepest places that differ, in the order
// of their names.
func compareValues(a, b any, at string, differs func(pointer string, a, b any)) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			for _, name := range unionOf(x, y) {
				compareValues(memberOf(x, name), memberOf(y, name), at+"/"+escapeStep(name), differs)
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			for i := range max(len(x), len(y)) {
				compareValues(elementOf(x, i), elementOf(y, i), fmt.Sprintf("%s/%d", at, i), differs)
			}
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		if at == "" {
			at = "/"
		}
		differs(at, a, b)
	}
}

func memberOf(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return absent{}
}

func elementOf(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

func unionOf(a, b map[string]any) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	return slices.Compact(names)
}

func escapeStep(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// shown is a value as JSON, cut; nothing for one that is not there.
func shown(v any) string {
	if _, ok := v.(absent); ok || v == nil {
		if ok {
			return ""
		}
		return "null"
	}
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return cutText(string(b))
}

func cutText(s string) string { return clip(s, valueShown) }

// clip keeps so many bytes of a text, and whole runes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// lineChanges names the lines of a text that changed, by their numbers in the
// new one; where lines were only taken out, by the line that they stood before.
func lineChanges(part, name, was, is string) []Change {
	old, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	start := 0
	for start < len(old) && start < len(now) && old[start] == now[start] {
		start++
	}
	end := 0
	for end < len(old)-start && end < len(now)-start && old[len(old)-1-end] == now[len(now)-1-end] {
		end++
	}
	old, now = old[start:len(old)-end], now[start:len(now)-end]
	var changes []Change
	for _, h := range hunks(old, now) {
		first, last := start+h.to+1, start+h.to+h.added
		path := fmt.Sprintf("%s line %d", name, first)
		if last > first {
			path = fmt.Sprintf("%s lines %d-%d", name, first, last)
		}
		changes = append(changes, Change{
			Part: part, Path: path,
			Old: cutText(strings.Join(old[h.from:h.from+h.removed], "\n")), New: cutText(strings.Join(now[h.to:h.to+h.added], "\n")),
		})
	}
	return changes
}

// hunk is a run of lines that changed: removed ones from, added ones to.
type hunk struct{ from, removed, to, added int }

// hunks aligns lines by their longest common subsequence. Long texts are one hunk.
func hunks(old, now []string) []hunk {
	if len(old)*len(now) > linesDiffed*linesDiffed/4 || len(old) == 0 || len(now) == 0 {
		return []hunk{{0, len(old), 0, len(now)}}
	}
	width := len(now) + 1
	longest := make([]int, (len(old)+1)*width)
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			if old[i] == now[j] {
				longest[i*width+j] = 1 + longest[(i+1)*width+j+1]
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	var all []hunk
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		h := hunk{from: i, to: j}
		for i < len(old) || j < len(now) {
			if i < len(old) && j < len(now) && old[i] == now[j] {
				break
			}
			if j == len(now) || i < len(old) && longest[(i+1)*width+j] >= longest[i*width+j+1] {
				i++
			} else {
				j++
			}
		}
		h.removed, h.added = i-h.from, j-h.to
		if h.removed > 0 || h.added > 0 {
			all = append(all, h)
		}
		for i < len(old) && j < len(now) && old[i] == now[j] {
			i, j = i+1, j+1
		}
	}
	return all
}
