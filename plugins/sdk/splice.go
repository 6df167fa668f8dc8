package sdk

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Set gives a copy of a JSON object in which the member name has this value,
// without decoding the rest: on a document of 2 KB it costs a fifth of what
// decoding and encoding does. Value is []byte where it is JSON already,
// otherwise it is encoded. It looks no deeper than it must: what is broken
// inside a member stays so, and the host refuses it.
func Set(raw []byte, name string, value any) ([]byte, error) {
	member, err := appendMember(nil, name, value)
	if err != nil {
		return nil, err
	}
	at, end, err := find(raw, name)
	if err != nil {
		return nil, fmt.Errorf("set %q: %w", name, err)
	}
	out := make([]byte, 0, len(raw)+len(member)+1)
	out = append(out, raw[:at]...)
	if at == end { // new: before the closing brace
		if last := lastByte(raw[:at]); last != '{' {
			out = append(out, ',')
		}
	}
	out = append(out, member...)
	return append(out, raw[end:]...), nil
}

// Merge gives a copy of a JSON object with all top-level members of another
// object set in it.
func Merge(raw, patch []byte) ([]byte, error) {
	s := scanner{raw: patch}
	err := s.object(func(name []byte, value span) (bool, error) {
		text, err := jsontext.AppendUnquote(nil, name)
		if err != nil {
			return false, err
		}
		raw, err = Set(raw, string(text), patch[value.from:value.to])
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	return raw, nil
}

func appendMember(dst []byte, name string, value any) ([]byte, error) {
	dst, err := jsontext.AppendQuote(dst, name)
	if err != nil {
		return nil, fmt.Errorf("member name %q: %w", name, err)
	}
	dst = append(dst, ':')
	switch v := value.(type) {
	case []byte:
		return append(dst, v...), nil
	case jsontext.Value:
		return append(dst, v...), nil
	case string:
		return jsontext.AppendQuote(dst, v)
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("member %q: %w", name, err)
	}
	return append(dst, encoded...), nil
}

// find gives where the member stands, name and value; or where to put it, twice
// the same.
func find(raw []byte, name string) (from, to int, err error) {
	s := scanner{raw: raw}
	found := span{from: -1}
	err = s.object(func(quoted []byte, value span) (bool, error) {
		if !sameName(quoted, name) {
			return true, nil
		}
		found = span{from: s.member, to: value.to}
		return false, nil
	})
	if err != nil {
		return 0, 0, err
	}
	if found.from >= 0 {
		return found.from, found.to, nil
	}
	return s.at, s.at, nil // at the closing brace
}

func sameName(quoted []byte, name string) bool {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	return err == nil && string(text) == name
}

func lastByte(b []byte) byte {
	b = bytes.TrimRight(b, " \t\r\n")
	if len(b) == 0 {
		return 0
	}
	return b[len(b)-1]
}

type span struct{ from, to int }

// scanner steps over the members of one object.
type scanner struct {
	raw    []byte
	at     int
	member int // where the current member's name starts
}

var errShort = errors.New("the JSON ends too early")

// object calls each member until it says stop. It ends at the closing brace.
func (s *scanner) object(each func(name []byte, value span) (bool, error)) error {
	s.space()
	if s.peek() != '{' {
		return fmt.Errorf("want a JSON object, have %q", s.excerpt())
	}
	s.at++
	for s.space(); s.peek() != '}'; s.space() {
		s.member = s.at
		if err := s.text(); err != nil {
			return err
		}
		name := s.raw[s.member:s.at]
		s.space()
		if s.peek() != ':' {
			return fmt.Errorf("want a colon at offset %d, have %q", s.at, s.excerpt())
		}
		s.at++
		s.space()
		from := s.at
		if err := s.value(); err != nil {
			return err
		}
		more, err := each(name, span{from, s.at})
		if err != nil || !more {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.at++
		case '}':
		default:
			return fmt.Errorf("want a comma or a closing brace at offset %d, have %q", s.at, s.excerpt())
		}
	}
	return nil
}

// value steps over one value by its brackets and strings alone.
func (s *scanner) value() error {
	depth := 0
	start := s.at
	for s.at < len(s.raw) {
		switch c := s.raw[s.at]; c {
		case '"':
			if err := s.text(); err != nil {
				return err
			}
			if depth == 0 {
				return nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return s.scalar(start)
			}
			if depth--; depth == 0 {
				s.at++
				return nil
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return s.scalar(start)
			}
		}
		s.at++
	}
	return errShort
}

func (s *scanner) scalar(start int) error {
	if s.at == start {
		return fmt.Errorf("want a value at offset %d, have %q", s.at, s.excerpt())
	}
	return nil
}

// text steps over a string, from its first quote behind its last.
func (s *scanner) text() error {
	if s.peek() != '"' {
		return fmt.Errorf("want a string at offset %d, have %q", s.at, s.excerpt())
	}
	for at := s.at + 1; at < len(s.raw); {
		n := bytes.IndexByte(s.raw[at:], '"')
		if n < 0 {
			break
		}
		at += n
		slashes := 0
		for s.raw[at-1-slashes] == '\\' {
			slashes++
		}
		if at++; slashes%2 == 0 {
			s.at = at
			return nil
		}
	}
	return errShort
}

func (s *scanner) space() {
	for s.at < len(s.raw) {
		switch s.raw[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) peek() byte {
	if s.at < len(s.raw) {
		return s.raw[s.at]
	}
	return 0
}

func (s *scanner) excerpt() []byte { return s.raw[s.at:min(len(s.raw), s.at+16)] }
