package expr

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// What stands here reads canonical JSON without decoding it: an expression
// names two values of a document of hundreds, and a skip over the others costs
// a hundredth of decoding them. Canonical form has no white space, and one
// spelling for every name, so names are compared as bytes.
//
// Nothing here trusts its input so far as to run past its end: a document that
// is not canonical reads as broken, never as something else.

var (
	rawNull  = []byte("null")
	rawTrue  = []byte("true")
	rawFalse = []byte("false")
)

// skipString gives the index after the string that starts at i; -1: broken.
// Names and short values are walked through, since a search costs more to start
// than they are long; the rest is searched.
func skipString(b []byte, i int) int {
	const walk = 16
	j := i + 1
	for end := min(j+walk, len(b)); j < end; j++ {
		switch b[j] {
		case '"':
			return j + 1
		case '\\':
			j++
		}
	}
	for j < len(b) {
		n := bytes.IndexByte(b[j:], '"')
		if n < 0 {
			return -1
		}
		j += n + 1
		if b[j-2] != '\\' || !escaped(b, i, j-1) {
			return j
		}
	}
	return -1
}

// escaped tells whether the quote at q is written with a backslash that is not
// itself escaped, in the string that starts at i.
func escaped(b []byte, i, q int) bool {
	slashes := 0
	for k := q - 1; k > i && b[k] == '\\'; k-- {
		slashes++
	}
	return slashes%2 == 1
}

// skipValue gives the index after the value that starts at i; -1: broken.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	case ',', ':', ']', '}':
		return -1
	}
	for i++; i < len(b); i++ {
		if c := b[i]; c == ',' || c == '}' || c == ']' {
			return i
		}
	}
	return i
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// member gives the value of a name, quoted as in canonical form, in an object;
// nil: it has no such name. ok is false where b is broken.
func member(b, quoted []byte) (value []byte, ok bool) {
	value, _, ok = memberFrom(b, quoted, 1)
	return value, ok
}

// memberFrom is member that begins at the name at index i, and tells the index
// of the next name. It is eachMember written out: a call for each member is half
// of its cost.
func memberFrom(b, quoted []byte, i int) (value []byte, next int, ok bool) {
	if len(b) < 2 || b[0] != '{' {
		return nil, 0, false
	}
	if b[1] == '}' {
		return nil, 0, len(b) == 2
	}
	for i < len(b) {
		if b[i] != '"' {
			return nil, 0, false
		}
		found := bytes.HasPrefix(b[i:], quoted)
		end := i + len(quoted)
		if !found {
			if end = skipString(b, i); end < 0 {
				return nil, 0, false
			}
		}
		if end >= len(b) || b[end] != ':' {
			return nil, 0, false
		}
		valueEnd := skipValue(b, end+1)
		if valueEnd < 0 || valueEnd >= len(b) {
			return nil, 0, false
		}
		if found {
			return b[end+1 : valueEnd], valueEnd + 1, true
		}
		if b[valueEnd] == '}' {
			return nil, 0, valueEnd == len(b)-1
		}
		if b[valueEnd] != ',' {
			return nil, 0, false
		}
		i = valueEnd + 1
	}
	return nil, 0, false
}

// eachMember calls f with the quoted name and the value of each member of an
// object until it says false. It reports whether what it read was well formed.
func eachMember(b []byte, f func(name, value []byte) bool) bool {
	if len(b) < 2 || b[0] != '{' {
		return false
	}
	if b[1] == '}' {
		return len(b) == 2
	}
	for i := 1; i < len(b); {
		if b[i] != '"' {
			return false
		}
		end := skipString(b, i)
		if end < 0 || end >= len(b) || b[end] != ':' {
			return false
		}
		valueEnd := skipValue(b, end+1)
		if valueEnd < 0 || valueEnd >= len(b) {
			return false
		}
		if !f(b[i:end], b[end+1:valueEnd]) {
			return true
		}
		if b[valueEnd] == '}' {
			return valueEnd == len(b)-1
		}
		if b[valueEnd] != ',' {
			return false
		}
		i = valueEnd + 1
	}
	return false
}

// eachElement calls f with each element of an array until it says false. It
// reports whether what it read was well formed.
func eachElement(b []byte, f func(value []byte) bool) bool {
	if len(b) < 2 || b[0] != '[' {
		return false
	}
	if b[1] == ']' {
		return len(b) == 2
	}
	for i := 1; i < len(b); {
		end := skipValue(b, i)
		if end < 0 || end >= len(b) {
			return false
		}
		if !f(b[i:end]) {
			return true
		}
		if b[end] == ']' {
			return end == len(b)-1
		}
		if b[end] != ',' {
			return false
		}
		i = end + 1
	}
	return false
}

// element gives the element n of an array; nil: it has fewer.
func element(b []byte, n int) (value []byte, ok bool) {
	i := 0
	ok = eachElement(b, func(v []byte) bool {
		if i == n {
			value = v
			return false
		}
		i++
		return true
	})
	return value, ok
}

// kindOf tells the shape of a raw value by its first byte.
func kindOf(raw []byte) kind {
	if len(raw) == 0 {
		return kindAny
	}
	switch raw[0] {
	case '"':
		return kindString
	case '{':
		return kindObject
	case '[':
		return kindList
	case 't', 'f':
		return kindBool
	case 'n':
		return kindNull
	}
	return kindNumber
}

// unquote is the text that a raw JSON string spells, as the document has it:
// no Unicode normal form is applied.
func unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	return string(b), err == nil
}

// plainASCII reports whether a raw JSON string spells itself: no escape, and
// nothing that Unicode's normal form could change.
func plainASCII(raw []byte) bool {
	for _, c := range raw {
		if c >= 0x80 || c == '\\' {
			return false
		}
	}
	return true
}
