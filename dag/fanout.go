package dag

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// spawn makes the items of a fan-out. Count and keys are checked before any
// child starts.
func (t *Traversal) spawn(s *Stage) ([]Child, *Failure, error) {
	f := s.FanOut
	list, failure, err := t.document(f.Each, s.Decide != nil)
	if failure != nil || err != nil {
		return nil, failure, err
	}
	elements, ok := elements(list.Bytes)
	if !ok {
		return nil, Fail(EExpr, "%s: `each` is a list, this is %s", f.Each.Pos(), line(string(list.Bytes[:min(len(list.Bytes), 64)]), maxWord)), nil
	}
	if n := len(elements); n < f.Min || f.Max > 0 && n > f.Max {
		elements := "elements"
		if n == 1 {
			elements = "element"
		}
		return nil, f.misfit("%d %s, where %s", n, elements, f.bounds()), nil
	}
	children := make([]Child, len(elements))
	seen := make(map[string]bool, len(elements))
	for i, raw := range elements {
		item := NewDoc(raw)
		key, err := f.Key.Text(element{t, item})
		failure, err := evaluated(f.Key, err)
		if failure != nil || err != nil {
			return nil, failure, err
		}
		key = t.key + "/" + key
		switch {
		case seen[key]:
			return nil, f.misfit("the key %q twice", line(key, maxWord)), nil
		case !usableKey(key, len(t.key)+1):
			return nil, f.misfit("the key %q: a key is not empty, has at most 256 bytes and no control characters", line(key, maxWord)), nil
		}
		seen[key] = true
		children[i] = Child{Key: key, Item: item}
	}
	return children, nil, nil
}

// spawnAgain asks once more for the children of a traversal that was restored.
func (t *Traversal) spawnAgain() error {
	if _, err := t.held(&t.output); err != nil {
		return err
	}
	children, failure, err := t.spawn(t.at)
	switch {
	case err != nil:
		return err
	case failure != nil:
		return bug(t.key, "a fan-out that was possible is not any more: %v", failure)
	}
	t.offer(Step{Kind: DoSpawn, Children: children})
	return nil
}

// element is the scope of a fan-out's key: `each` is the element.
type element struct {
	*Traversal
	each Doc
}

func (e element) Lookup(n Name) (Doc, error) {
	if n.Root == "each" {
		return e.each, nil
	}
	return e.Traversal.Lookup(n)
}

// misfit is the failure of a fan-out under its own code.
func (f *FanOut) misfit(format string, args ...any) *Failure {
	failure := Fail(EFanOut, "the fan-out has "+format, args...)
	if f.Code != "" {
		failure.Code, failure.Cause = f.Code, EFanOut
	}
	return failure
}

func (f *FanOut) bounds() string {
	switch {
	case f.Min == f.Max:
		return "exactly " + itoa(f.Min) + " must be"
	case f.Max == 0:
		return "at least " + itoa(f.Min) + " must be"
	case f.Min == 0:
		return "at most " + itoa(f.Max) + " may be"
	}
	return itoa(f.Min) + " to " + itoa(f.Max) + " must be"
}

// usableKey checks a child's key, whose own part begins at own.
func usableKey(key string, own int) bool {
	if len(key) > 256 || len(key) == own || !utf8.ValidString(key) {
		return false
	}
	for _, r := range key {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return false
		}
	}
	return true
}

// elements splits a canonical JSON list.
func elements(canonical []byte) ([][]byte, bool) {
	if jsontext.Value(canonical).Kind() != '[' {
		return nil, false
	}
	list := [][]byte{}
	rest := canonical[1:]
	for len(rest) > 0 && rest[0] != ']' {
		if rest[0] == ',' {
			rest = rest[1:]
		}
		n := skipValue(rest)
		if n == 0 {
			return nil, false
		}
		list = append(list, rest[:n:n])
		rest = rest[n:]
	}
	return list, len(rest) == 1
}
