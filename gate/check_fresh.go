package gate

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
)

// freshCheck holds when a stage has seen exactly this: the value at a path of the
// input of its latest visit that is not stale has the digest of the given value.
type freshCheck struct {
	stage string
	of    dag.Expr
	at    jsontext.Pointer // empty: all of the input
	path  string           // as written
}

func newFreshCheck(c *dag.Check) (checker, error) {
	if c.Stage == nil {
		return nil, errors.New("it has no stage")
	}
	path, err := constant(c, "at", "")
	if err != nil {
		return nil, err
	}
	at, err := parsePath(path)
	if err != nil {
		return nil, fmt.Errorf("at: %w", err)
	}
	return &freshCheck{c.Stage.Name, c.Args["of"], at, path}, nil
}

func (c *freshCheck) judge(s *scope) (result, error) {
	visit, ok := s.latest(c.stage)
	if !ok {
		return refused("", "stage %s was not visited since the last change", c.stage), nil
	}
	of, err := s.doc(c.of)
	if err != nil {
		return result{}, err
	}
	if isNull(of) {
		return refused("", "the value to compare is null"), nil
	}
	if c.at == "" {
		if visit.Input == of.Digest {
			return passed(nil), nil
		}
		return refused("", "stage %s has seen another document", c.stage), nil
	}
	input, err := s.whole(dag.Doc{Digest: visit.Input})
	if err != nil {
		return result{}, err
	}
	value, found, err := valueAt(input.Bytes, c.at)
	if err != nil {
		return result{}, err
	}
	if !found {
		return refused("", "the input of stage %s has no %s", c.stage, c.path), nil
	}
	// A part of a canonical document is canonical, so its bytes are its identity.
	if dag.Sum(value) != of.Digest {
		return refused("", "stage %s has seen another %s", c.stage, c.path), nil
	}
	return passed(nil), nil
}

// parsePath reads a plain path, a.b[0].c, or a JSON Pointer.
func parsePath(path string) (jsontext.Pointer, error) {
	if path == "" || path[0] == '/' {
		p := jsontext.Pointer(path)
		if !p.IsValid() {
			return "", fmt.Errorf("%q is not a JSON Pointer", path)
		}
		return p, nil
	}
	var p jsontext.Pointer
	for part := range strings.SplitSeq(path, ".") {
		name, rest, _ := strings.Cut(part, "[")
		if name == "" {
			return "", fmt.Errorf("%q is not a plain path such as card or report.sources[0]", path)
		}
		p = p.AppendToken(name)
		for rest != "" {
			number, after, closed := strings.Cut(rest, "]")
			if _, err := strconv.ParseUint(number, 10, 31); err != nil || !closed || after != "" && after[0] != '[' {
				return "", fmt.Errorf("%q is not a plain path such as card or report.sources[0]", path)
			}
			p = p.AppendToken(number)
			rest = strings.TrimPrefix(after, "[")
		}
	}
	return p, nil
}

// valueAt finds the value at a pointer of a document.
func valueAt(doc []byte, at jsontext.Pointer) (value []byte, found bool, err error) {
	value = doc
	for token := range at.Tokens() {
		if value, found, err = step(value, token); err != nil || !found {
			return nil, false, err
		}
	}
	return value, true, nil
}

func step(doc []byte, token string) (value []byte, found bool, err error) {
	if isObject(doc) {
		v, found, err := member(doc, token)
		return v, found, err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(doc))
	if dec.PeekKind() != '[' {
		return nil, false, nil
	}
	n, err := strconv.Atoi(token)
	if err != nil {
		return nil, false, nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, false, err
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		v, err := dec.ReadValue()
		if err != nil {
			return nil, false, err
		}
		if i == n {
			return v.Clone(), true, nil
		}
	}
	return nil, false, nil
}
