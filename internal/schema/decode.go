package schema

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// decode makes of a canonical document what the validator wants. All texts are
// parts of one copy of the document, and numbers stay the digits that they are:
// half of what a general decoder costs, and nothing is rounded.
//
// It reads canonical form only: no white space. What is not that is an error,
// never something else.
func decode(canonical []byte) (any, error) {
	d := decoder{s: string(canonical)}
	v, err := d.value(0)
	if err == nil && d.i != len(d.s) {
		err = errNotCanonical
	}
	return v, err
}

var errNotCanonical = errors.New("the document is not canonical JSON")

// maxDepth is what package canon lets pass.
const maxDepth = 1000

type decoder struct {
	s string
	i int
}

func (d *decoder) value(depth int) (any, error) {
	if d.i >= len(d.s) || depth > maxDepth {
		return nil, errNotCanonical
	}
	switch d.s[d.i] {
	case '{':
		return d.object(depth)
	case '[':
		return d.array(depth)
	case '"':
		return d.text()
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	case 'n':
		return nil, d.word("null")
	}
	start := d.i
	for d.i < len(d.s) && strings.IndexByte("+-.0123456789Ee", d.s[d.i]) >= 0 {
		d.i++
	}
	if start == d.i {
		return nil, errNotCanonical
	}
	return json.Number(d.s[start:d.i]), nil
}

func (d *decoder) word(w string) error {
	if !strings.HasPrefix(d.s[d.i:], w) {
		return errNotCanonical
	}
	d.i += len(w)
	return nil
}

// next steps over c; ok is false where something else stands there.
func (d *decoder) next(c byte) bool {
	if d.i < len(d.s) && d.s[d.i] == c {
		d.i++
		return true
	}
	return false
}

func (d *decoder) text() (string, error) {
	start := d.i
	for j := d.i + 1; j < len(d.s); {
		n := strings.IndexByte(d.s[j:], '"')
		if n < 0 {
			break
		}
		q := j + n
		slashes := 0
		for k := q - 1; k > start && d.s[k] == '\\'; k-- {
			slashes++
		}
		if j = q + 1; slashes%2 == 1 {
			continue
		}
		d.i = j
		raw := d.s[start+1 : q]
		if strings.IndexByte(raw, '\\') < 0 {
			return raw, nil
		}
		b, err := jsontext.AppendUnquote(nil, d.s[start:j])
		return string(b), err
	}
	return "", errNotCanonical
}

func (d *decoder) object(depth int) (any, error) {
	m := map[string]any{}
	d.i++
	if d.next('}') {
		return m, nil
	}
	for {
		if d.i >= len(d.s) || d.s[d.i] != '"' {
			return nil, errNotCanonical
		}
		name, err := d.text()
		if err != nil {
			return nil, err
		}
		if !d.next(':') {
			return nil, errNotCanonical
		}
		if m[name], err = d.value(depth + 1); err != nil {
			return nil, err
		}
		if d.next('}') {
			return m, nil
		}
		if !d.next(',') {
			return nil, errNotCanonical
		}
	}
}

func (d *decoder) array(depth int) (any, error) {
	list := []any{}
	d.i++
	if d.next(']') {
		return list, nil
	}
	for {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if d.next(']') {
			return list, nil
		}
		if !d.next(',') {
			return nil, errNotCanonical
		}
	}
}
