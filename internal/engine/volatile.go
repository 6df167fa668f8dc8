package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/internal/canon"
)

// withoutVolatile takes what a stage calls volatile out of a document: it is
// kept as notes of the visit, and a result that differs in nothing else is the
// same artifact.
func withoutVolatile(canonical []byte, pointers []string) (kept []byte, notes []string, err error) {
	var doc any
	if err := json.Unmarshal(canonical, &doc); err != nil {
		return nil, nil, err
	}
	for _, pointer := range pointers {
		removed, ok := remove(doc, steps(pointer))
		if !ok {
			continue
		}
		text, err := json.Marshal(removed, json.Deterministic(true))
		if err != nil {
			return nil, nil, err
		}
		notes = append(notes, fmt.Sprintf("volatile %s = %s", pointer, text))
	}
	b, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return nil, nil, err
	}
	kept, err = canon.Canonical(nil, b)
	return kept, notes, err
}

// steps splits a JSON Pointer; a bare name is a member of the document.
func steps(pointer string) []string {
	if !strings.HasPrefix(pointer, "/") {
		return []string{pointer}
	}
	parts := strings.Split(pointer[1:], "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts
}

// remove takes one member out of nested objects and lists. It takes no element
// out of a list: those after it would move up, and be others.
func remove(doc any, path []string) (any, bool) {
	if list, ok := doc.([]any); ok && len(path) > 1 {
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(list) {
			return nil, false
		}
		return remove(list[i], path[1:])
	}
	object, ok := doc.(map[string]any)
	if !ok {
		return nil, false
	}
	value, ok := object[path[0]]
	if !ok {
		return nil, false
	}
	if len(path) > 1 {
		return remove(value, path[1:])
	}
	delete(object, path[0])
	return value, true
}
