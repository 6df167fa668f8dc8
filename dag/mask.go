package dag

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// allowed works out, before a visit, what it may change. Where nothing may and
// something must, the visit fails before it is paid for.
func (t *Traversal) allowed(s *Stage) (*Failure, error) {
	if s.MayChange == nil || t.masked {
		return nil, nil
	}
	d, failure, err := t.document(s.MayChange, s.Decide != nil)
	if failure != nil || err != nil {
		return failure, err
	}
	var names []string
	if err := json.Unmarshal(d.Bytes, &names); err != nil || d.Bytes[0] != '[' {
		return Fail(EExpr, "%s: `may_change` is a list of texts, this is %s", s.MayChange.Pos(), line(string(d.Bytes[:min(len(d.Bytes), 64)]), maxWord)), nil
	}
	if len(names) == 0 && s.mustChange() {
		return s.unchanged("nothing may change here, and something must"), nil
	}
	for i, name := range names {
		names[i] = pointer(name)
	}
	t.mask, t.masked = names, true
	return nil, nil
}

func (s *Stage) mustChange() bool { return s.MustChange || s.MustCode != "" }

// unchanged is the failure of a visit that had to change something.
func (s *Stage) unchanged(message string) *Failure {
	if s.MustCode == "" {
		return Fail(EMask, "%s", message)
	}
	return &Failure{Code: s.MustCode, Cause: EMask, Message: message}
}

// pointer is a JSON Pointer as it is, a bare name as one.
func pointer(name string) string {
	if name == "" || name[0] == '/' {
		return name
	}
	return "/" + escape(name)
}

func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// inMask checks what an output changed, against the item before the visit.
func (t *Traversal) inMask(s *Stage, output Doc) (*Failure, error) {
	if s.MayChange == nil && !s.mustChange() {
		return nil, nil
	}
	if failure, err := t.allowed(s); failure != nil || err != nil { // worked out anew after Restore
		return failure, err
	}
	if output.Digest == t.item.Digest {
		if s.mustChange() {
			return s.unchanged("nothing was changed, and something must be"), nil
		}
		return nil, nil
	}
	if s.MayChange == nil {
		return nil, nil
	}
	before, err := t.held(&t.item)
	if err != nil {
		return nil, err
	}
	after, err := t.held(&t.output)
	if err != nil {
		return nil, err
	}
	m := masking{allowed: t.mask}
	m.compare("", before.Bytes, after.Bytes)
	if len(m.outside) == 0 {
		return nil, nil
	}
	may := "nothing may"
	if len(t.mask) > 0 {
		may = "only " + enumerate(t.mask, "and") + " may"
	}
	return Fail(EMask, "changed %s, where %s", enumerate(m.outside, "and"), may), nil
}

// masking collects the places outside of a mask where two documents differ.
type masking struct {
	allowed []string
	outside []string
}

// mostDifferences is how many places outside of a mask a message names.
const mostDifferences = 5

func (m *masking) compare(at string, before, after []byte) {
	if len(m.outside) == mostDifferences || bytes.Equal(before, after) || slices.Contains(m.allowed, at) {
		return
	}
	switch {
	case kind(before) == '{' && kind(after) == '{':
		m.members(at, membersOf(before), membersOf(after))
	case kind(before) == '[' && kind(after) == '[':
		a, _ := elements(before)
		b, _ := elements(after)
		for i := range max(len(a), len(b)) {
			m.compare(at+"/"+itoa(i), nth(a, i), nth(b, i))
		}
	default:
		if at == "" {
			at = "the whole document"
		}
		m.outside = append(m.outside, at)
	}
}

// members compares two objects.
func (m *masking) members(at string, before, after []member) {
	values := make(map[string][]byte, len(after))
	for _, a := range after {
		values[string(a.name)] = a.value
	}
	for _, b := range before {
		m.compare(at+"/"+b.pointer(), b.value, values[string(b.name)])
		delete(values, string(b.name))
	}
	for _, a := range after {
		if _, added := values[string(a.name)]; added {
			m.compare(at+"/"+a.pointer(), nil, a.value)
		}
	}
}

func nth(list [][]byte, i int) []byte {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// kind is the first byte of a value; 0 where there is none.
func kind(value []byte) byte {
	if len(value) == 0 {
		return 0
	}
	return value[0]
}

// member is one of an object, its name still quoted.
type member struct{ name, value []byte }

func (m member) pointer() string {
	name, _ := jsontext.AppendUnquote(nil, m.name) // canonical: it is a text
	return escape(string(name))
}

// membersOf splits a canonical JSON object.
func membersOf(canonical []byte) []member {
	var list []member
	rest := canonical[1:]
	for len(rest) > 0 && rest[0] != '}' {
		if rest[0] == ',' {
			rest = rest[1:]
		}
		n := skipValue(rest)
		if n == 0 || n >= len(rest) || rest[n] != ':' {
			return list
		}
		name := rest[:n]
		rest = rest[n+1:]
		if n = skipValue(rest); n == 0 {
			return list
		}
		list = append(list, member{name, rest[:n:n]})
		rest = rest[n:]
	}
	return list
}

// skipValue is the length of the canonical JSON value at the start of b; 0
// where there is none. It trusts that the document is canonical: no white
// space, and every bracket has its other.
func skipValue(b []byte) int {
	depth := 0
	for i := 0; i < len(b); {
		switch b[i] {
		case '"':
			i++
			for i < len(b) && b[i] != '"' {
				if b[i] == '\\' {
					i++
				}
				i++
			}
			i++
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return 0
			}
			depth--
			i++
		case ',', ':':
			if depth == 0 {
				return 0
			}
			i++
			continue
		default:
			for i < len(b) && !bytes.ContainsRune([]byte(",:]}"), rune(b[i])) {
				i++
			}
		}
		if depth == 0 {
			return min(i, len(b))
		}
	}
	return 0
}
