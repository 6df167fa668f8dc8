package gate

import (
	"bytes"
	"encoding/hex"
	"unicode/utf8"
)

// Rows are skimmed where they are as the gate writes them: a scan over the bytes
// takes a fifth of the time that decoding takes, and a corpus is read whole
// before the first candidate is judged. What is not in canonical form is left to
// the decoder.

// eachMember calls f with the quoted name and the value of each member of a
// canonical object. ok is false where f says stop, and where the object is broken.
func eachMember(object []byte, f func(name, value []byte) bool) (ok bool) {
	if len(object) < 2 || object[0] != '{' {
		return false
	}
	if object[1] == '}' {
		return len(object) == 2
	}
	for i := 1; i < len(object) && object[i] == '"'; {
		colon := textEnd(object, i)
		if colon >= len(object) || object[colon] != ':' {
			return false
		}
		end := valueEnd(object, colon+1)
		if end >= len(object) || end == colon+1 || !f(object[i:colon], object[colon+1:end]) {
			return false
		}
		if object[end] != ',' {
			return object[end] == '}' && end == len(object)-1
		}
		i = end + 1
	}
	return false
}

// memberScan goes through the members of a canonical object whose names are plain
// ASCII: in those the order of names is the order of their bytes.
type memberScan struct {
	object []byte
	end    int    // of the member at hand
	member []byte // its name and its value; nil: there are no more
	name   []byte // without quotation marks
}

// next steps to the next member. ok is false where the object is broken, where its
// names do not ascend, and where one of them is not plain.
func (m *memberScan) next() (ok bool) {
	b, start := m.object, m.end+1
	switch {
	case len(b) < 2 || b[0] != '{':
		return false
	case m.end == len(b)-1 || len(b) == 2 && b[1] == '}':
		m.member = nil
		return b[len(b)-1] == '}'
	case m.end > 0 && b[m.end] != ',' || b[start] != '"':
		return false
	}
	colon := textEnd(b, start)
	if colon >= len(b) || b[colon] != ':' {
		return false
	}
	name := b[start+1 : colon-1]
	for _, c := range name {
		if c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	if m.member != nil && bytes.Compare(m.name, name) >= 0 {
		return false
	}
	end := valueEnd(b, colon+1)
	if end >= len(b) || end == colon+1 {
		return false
	}
	m.name, m.member, m.end = name, b[start:end], end
	return true
}

// textEnd is the index behind the text that starts at i.
func textEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return len(b)
}

// valueEnd is the index of the comma or the bracket behind the value that starts at i.
func valueEnd(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = textEnd(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(b)
}

// ownID finds the member "id" of a record in canonical form; nil: it has none.
func ownID(record []byte) (id []byte) {
	eachMember(record, func(name, value []byte) bool {
		if string(name) != `"id"` {
			return true
		}
		id = value
		return false
	})
	return id
}

// skim takes from a row of the evidence what the indexes need, and the digest of
// the row before it, in hex. ok is false for a row that the gate did not write
// like that.
func (n *evidenceNote) skim(line []byte) (previous []byte, ok bool) {
	*n = evidenceNote{keys: n.keys[:0]}
	seen := 0
	whole := eachMember(line, func(name, value []byte) bool {
		switch string(name) {
		case `"accept_key"`:
			seen |= 1
			return skimKey(&n.accept, value)
		case `"id"`:
			seen |= 2
			id, plain := plainText(value)
			n.id = string(id)
			return plain
		case `"keys"`:
			return n.skimKeys(value)
		case `"novel"`:
			n.novel = value
		case `"previous"`:
			seen |= 4
			previous, ok = plainText(value)
			return ok
		case `"sequence"`:
			seen |= 8
			return skimNumber(&n.sequence, value)
		}
		return true
	})
	if !whole || seen != 15 || n.id == "" || n.accept == (key{}) {
		return nil, false
	}
	n.idKey = keyOf(n.id)
	return previous, true
}

func (n *evidenceNote) skimKeys(value []byte) bool {
	if len(value) < 2 || value[0] != '[' {
		return false
	}
	for rest := value[1:]; len(rest) > 0; {
		var k key
		end := valueEnd(rest, 0)
		if end >= len(rest) || !skimKey(&k, rest[:end]) {
			return false
		}
		n.keys = append(n.keys, k)
		if rest[end] == ']' {
			return end == len(rest)-1
		}
		rest = rest[end+1:]
	}
	return false
}

func skimKey(k *key, value []byte) bool {
	text, ok := plainText(value)
	if !ok || len(text) != 2*len(k) {
		return false
	}
	_, err := hex.Decode(k[:], text)
	return err == nil
}

func skimNumber(n *uint64, value []byte) bool {
	const digits = 15 // whatever has more is decoded
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
		*n = *n*10 + uint64(c-'0')
	}
	return len(value) > 0 && len(value) <= digits
}

// plainText is what a JSON text without escapes says.
func plainText(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// skimAcceptKey finds the accept key of any row of the gate's: it is its first member.
func skimAcceptKey(line []byte) (k key, ok bool) {
	eachMember(line, func(name, value []byte) bool {
		ok = string(name) == `"accept_key"` && skimKey(&k, value)
		return false
	})
	return k, ok
}
