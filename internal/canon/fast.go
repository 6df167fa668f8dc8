package canon

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// fast writes the canonical form of a common document in one pass. It gives up
// on whatever it is not sure of, errors first of all: then the general way
// decides, which takes two to ten times as long. So a document costs what its
// text costs to look at once, and there is one judge of what is refused.
//
// What it is sure of: names and numbers of plain ASCII, strings whose escapes
// are canonical already, nesting up to fastDepth.
func fast(dst, raw []byte) ([]byte, bool) {
	p := passes.Get().(*pass)
	p.raw, p.at, p.dst = raw, 0, dst
	p.members = p.members[:0]
	ok := p.value(0)
	if ok {
		p.space()
		ok = p.at == len(raw)
	}
	out := p.dst
	p.raw, p.dst = nil, nil
	passes.Put(p)
	return out, ok
}

const fastDepth = 64

var passes = sync.Pool{New: func() any { return new(pass) }}

type pass struct {
	raw     []byte
	at      int
	dst     []byte
	members []member // of the objects that are open
	scratch []byte
}

// member is where a member of an object stands in dst.
type member struct{ name, nameEnd, end int }

func (p *pass) space() {
	for p.at < len(p.raw) && (p.raw[p.at] == ' ' || p.raw[p.at] == '\n' || p.raw[p.at] == '\t' || p.raw[p.at] == '\r') {
		p.at++
	}
}

// next is the first byte after white space; 0 at the end, which begins nothing.
func (p *pass) next() byte {
	p.space()
	if p.at == len(p.raw) {
		return 0
	}
	return p.raw[p.at]
}

func (p *pass) value(depth int) bool {
	switch c := p.next(); {
	case c == '"':
		_, ok := p.text()
		return ok
	case c == '{':
		return depth < fastDepth && p.object(depth+1)
	case c == '[':
		return depth < fastDepth && p.array(depth+1)
	case c == '-' || isDigit(c):
		return p.number()
	case c == 't':
		return p.word("true")
	case c == 'f':
		return p.word("false")
	case c == 'n':
		return p.word("null")
	}
	return false
}

func (p *pass) word(w string) bool {
	if !bytes.HasPrefix(p.raw[p.at:], []byte(w)) {
		return false
	}
	p.dst = append(p.dst, w...)
	p.at += len(w)
	return true
}

func (p *pass) array(depth int) bool {
	p.at++
	p.dst = append(p.dst, '[')
	if p.next() != ']' {
		for {
			if !p.value(depth) {
				return false
			}
			c := p.next()
			if c == ']' {
				break
			}
			if c != ',' {
				return false
			}
			p.at++
			p.dst = append(p.dst, ',')
		}
	}
	p.at++
	p.dst = append(p.dst, ']')
	return true
}

func (p *pass) object(depth int) bool {
	p.at++
	p.dst = append(p.dst, '{')
	first := len(p.members)
	body := len(p.dst)
	sorted := true
	if p.next() != '}' {
		for {
			if p.next() != '"' {
				return false
			}
			name := len(p.dst)
			plain, ok := p.text()
			if !ok || !plain {
				return false
			}
			m := member{name: name, nameEnd: len(p.dst)}
			if p.next() != ':' {
				return false
			}
			p.at++
			p.dst = append(p.dst, ':')
			if !p.value(depth) {
				return false
			}
			m.end = len(p.dst)
			if n := len(p.members); n > first && p.compare(p.members[n-1], m) >= 0 {
				sorted = false
			}
			p.members = append(p.members, m)
			c := p.next()
			if c == '}' {
				break
			}
			if c != ',' {
				return false
			}
			p.at++
			p.dst = append(p.dst, ',')
		}
	}
	p.at++
	if !sorted && !p.sort(p.members[first:], body) {
		return false
	}
	p.members = p.members[:first]
	p.dst = append(p.dst, '}')
	return true
}

// compare orders by name. In plain ASCII the order of bytes is that of UTF-16
// units, which RFC 8785 asks for. The closing quotes are left out: '"' sorts
// before most of what may follow it in a longer name, but not before ' ' and '!'.
func (p *pass) compare(a, b member) int {
	return bytes.Compare(p.dst[a.name:a.nameEnd-1], p.dst[b.name:b.nameEnd-1])
}

// sort puts the members that stand from body on into order; false: a name
// stands twice.
func (p *pass) sort(members []member, body int) bool {
	slices.SortFunc(members, p.compare)
	p.scratch = p.scratch[:0]
	for i, m := range members {
		if i > 0 {
			if p.compare(members[i-1], m) == 0 {
				return false
			}
			p.scratch = append(p.scratch, ',')
		}
		p.scratch = append(p.scratch, p.dst[m.name:m.end]...)
	}
	copy(p.dst[body:], p.scratch)
	return true
}

// text copies a string. plain: it is ASCII without escapes.
func (p *pass) text() (plain, ok bool) {
	start := p.at
	ascii, escaped := true, false
	for i := start + 1; i < len(p.raw); {
		if len(p.raw)-i >= 8 {
			special := specials(binary.LittleEndian.Uint64(p.raw[i:]))
			if special == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(special) / 8
		}
		switch c := p.raw[i]; {
		case c == '"':
			i++
			p.at = i
			if !ascii && !utf8.Valid(p.raw[start:i]) {
				return false, false
			}
			p.dst = append(p.dst, p.raw[start:i]...)
			return ascii && !escaped, true
		case c == '\\':
			if i+1 >= len(p.raw) || !canonicalEscape(p.raw[i+1]) {
				return false, false
			}
			escaped = true
			i += 2
		case c < ' ':
			return false, false
		case c >= utf8.RuneSelf:
			ascii = false
			for i < len(p.raw) && p.raw[i] >= utf8.RuneSelf {
				i++
			}
		default:
			i++
		}
	}
	return false, false
}

// specials has the high bit of the first byte of x set that is a control
// character, a quote, a backslash or not ASCII (of later bytes: perhaps).
func specials(x uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := x^(ones*'"'), x^(ones*'\\')
	return ((x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash | x) & high
}

// canonicalEscape reports whether \c is how RFC 8785 writes that character.
func canonicalEscape(c byte) bool {
	switch c {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

// number copies a short integer, and rewrites a short fraction.
func (p *pass) number() bool {
	end := numberEnd(p.raw, p.at)
	n := p.raw[p.at:end]
	digits := n
	if digits[0] == '-' {
		digits = digits[1:]
	}
	whole, fraction, isFraction := bytes.Cut(digits, []byte{'.'})
	if len(n) > safeDigits || !allDigits(whole) || len(whole) > 1 && whole[0] == '0' || isFraction && !allDigits(fraction) {
		return false
	}
	if isFraction {
		value, err := strconv.ParseFloat(string(n), 64)
		if err != nil || value == 0 {
			return false
		}
		p.dst = jsontext.AppendFloat(p.dst, value, 64)
	} else {
		if n[0] == '-' && whole[0] == '0' {
			return false
		}
		p.dst = append(p.dst, n...)
	}
	p.at = end
	return true
}

func allDigits(b []byte) bool {
	for _, c := range b {
		if !isDigit(c) {
			return false
		}
	}
	return len(b) > 0
}
