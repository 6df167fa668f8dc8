package dag

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// factList gathers the values of a block: what is not set is not in it.
type factList []fact

// word is a value out of a closed list, or a reference.
func (l *factList) word(name, value string) {
	if value != "" {
		*l = append(*l, fact{name: name, text: value})
	}
}

// text is a text of the user's, quoted.
func (l *factList) text(name, value string) {
	if value != "" {
		*l = append(*l, fact{name: name, text: quoteText(value), raw: value})
	}
}

func (l *factList) count(name string, n int) {
	if n != 0 {
		l.word(name, strconv.Itoa(n))
	}
}

// standard is a number that has a value where nothing is written.
func (l *factList) standard(name string, n, standard int) {
	*l = append(*l, fact{name: name, text: strconv.Itoa(n), standard: n == standard})
}

func (l *factList) amount(name string, x float64) {
	if x != 0 {
		l.word(name, strconv.FormatFloat(x, 'g', -1, 64))
	}
}

func (l *factList) duration(name string, d time.Duration) {
	if d != 0 {
		l.word(name, d.String())
	}
}

// durationIf is a duration that says something where it is none, too.
func (l *factList) durationIf(name string, d *time.Duration) {
	if d != nil {
		l.word(name, d.String())
	}
}

func (l *factList) flag(name string, on bool) {
	if on {
		l.word(name, "true")
	}
}

func (l *factList) expr(name string, e Expr) {
	if e != nil {
		*l = append(*l, fact{name: name, text: e.String(), key: e.Digest().String(), resolved: normalOf(e)})
	}
}

func (l *factList) schema(name string, s Schema) {
	if s != nil {
		*l = append(*l, fact{name: name, text: s.Name(), key: s.Source().Digest.String(), doc: s.Source().Bytes})
	}
}

// list is a list whose order matters; set one whose order does not.
func (l *factList) list(name string, words []string) {
	if words != nil {
		*l = append(*l, fact{name: name, text: quoteList(words)})
	}
}

func (l *factList) set(name string, words []string) {
	if words != nil {
		sorted := slices.Sorted(slices.Values(words))
		*l = append(*l, fact{name: name, text: quoteList(words), key: quoteList(sorted)})
	}
}

// order is the order of parts that have values of their own.
func (l *factList) order(name string, parts []string) {
	if len(parts) > 0 {
		*l = append(*l, fact{name: name, order: parts})
	}
}

func (l *factList) stages(name string, list []*Stage) {
	if len(list) > 0 {
		l.word(name, "["+strings.Join(slices.Sorted(slices.Values(stageRefs(list))), ", ")+"]")
	}
}

func (l *factList) stage(name string, s *Stage) {
	if s != nil {
		l.word(name, "stage."+s.Name)
	}
}

func (l *factList) code(name string, c Code) { l.word(name, string(c)) }

func (l *factList) mode(name string, m *Mode) {
	if m != nil {
		l.word(name, "mode."+m.Name)
	}
}

// triage may be inherited from the code, and then changes with it.
func (l *factList) triage(name string, t Triage, code Code, g *Graph) {
	f := fact{name: name, text: string(t), key: "own"}
	if c := g.FailureCode(code); c != nil && c.Triage == t {
		f.key, f.standard = "inherited", true
	}
	if f.key == "own" {
		f.key = string(t)
	}
	f.same = string(t)
	*l = append(*l, f)
}

// doc takes a configuration apart by its members.
func (l *factList) doc(name string, d Doc) {
	if d.Bytes == nil || d.Bytes[0] != '{' {
		return
	}
	for _, m := range membersOf(d.Bytes) {
		at := name + "." + m.pointer()
		switch {
		case m.value[0] == '"':
			text, _ := jsontext.AppendUnquote(nil, m.value) // canonical: it is a text
			l.text(at, string(text))
			if len(text) == 0 {
				l.word(at, `""`)
			}
		case m.value[0] == '{' && !bytes.Equal(m.value, []byte("{}")):
			l.doc(at, Doc{Bytes: m.value})
		default:
			l.word(at, string(m.value))
		}
	}
}

func quoteText(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return strconv.Quote(s) // it is not UTF-8
	}
	return string(b)
}

func quoteList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteText(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func stageRefs(list []*Stage) []string {
	refs := make([]string, len(list))
	for i, s := range list {
		refs[i] = "stage." + s.Name
	}
	return refs
}

func pipelineFacts(p *Pipeline) []fact {
	var l factList
	l.text("name", p.Name)
	l.text("description", p.Description)
	l.text("requires", p.Requires)
	l.text("replay", p.Replay)
	l.text("prices", p.Prices)
	l.count("budget.calls", p.Budget.Calls)
	l.count("budget.tokens", p.Budget.Tokens)
	l.amount("budget.usd", p.Budget.USD)
	return l
}

func codeBlock(c *FailureCode) factBlock {
	var l factList
	l.text("meaning", c.Meaning)
	l = append(l, fact{name: "triage", text: string(c.Triage), standard: c.Triage == Reject})
	l.flag("retired", c.Retired)
	return factBlock{string(c.Code), string(c.Code), l}
}

func sourceBlock(s *Source) factBlock {
	var l factList
	l.set("files", s.Files)
	l.word("format", s.Format)
	l.expr("key", s.Key)
	l.count("limit", s.Limit)
	l.schema("schema", s.Schema)
	l.code("code", s.Code)
	return factBlock{s.Name, s.Name, l}
}

func variableBlock(v Variable) factBlock {
	var l factList
	l = append(l, fact{name: "type", text: v.Type, standard: v.Type == "any"})
	l.text("description", v.Description)
	l.flag("sensitive", v.Sensitive)
	if !v.Value.IsNull() {
		l.word("value", string(v.Value.Bytes))
	}
	for i, check := range v.Validations {
		at := "validation"
		if len(v.Validations) > 1 {
			at += " #" + itoa(i+1)
		}
		l.word(at+".condition", check.Condition)
		l.text(at+".message", check.Message)
	}
	return factBlock{v.Name, v.Name, l}
}

func modeBlock(m *Mode) factBlock {
	var l factList
	switch {
	case m.Value != nil:
		l.expr("value", m.Value)
	case m.Apply:
		l.word("value", "apply")
	default:
		l.word("value", "shadow")
	}
	return factBlock{m.Name, m.Name, l}
}

func invariantBlocks(g *Graph) []factBlock {
	return blocksOf(g.Invariants, func(inv *Invariant) factBlock {
		var l factList
		l.stages("from", inv.From)
		l.stage("through", inv.Through)
		// A condition is compared as it is written: what it came to is true on both sides.
		l.word("condition", inv.Condition)
		return factBlock{inv.Text, inv.Text, l}
	})
}
