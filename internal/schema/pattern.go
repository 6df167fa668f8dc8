package schema

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// pattern is a regular expression that goes through a text of ASCII by a table: of
// such an expression the few states are known that it can be in, and a step between
// two of them costs a fiftieth of what the general engine takes.
type pattern struct {
	general interface{ MatchString(string) bool }
	// next leads from a state with a character to a state; nil: there are too many.
	next  [][utf8.RuneSelf]uint8
	holds []bool // of each state: the text may end here
}

// A table is made of no larger programs, and with no more states.
const (
	mostInstructions = 1000
	mostStates       = 64
)

func newPattern(general interface {
	fmt.Stringer
	MatchString(string) bool
}) *pattern {
	p := &pattern{general: general}
	parsed, err := syntax.Parse(general.String(), syntax.Perl)
	if err != nil {
		return p
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(prog.Inst) > mostInstructions {
		return p
	}
	t := tabler{prog: prog, states: map[string]uint8{}}
	if t.make() {
		p.next, p.holds = t.next, t.holds
	}
	return p
}

func (p *pattern) matches(text []byte) bool {
	if p.next == nil {
		return p.general.MatchString(string(text))
	}
	state := uint8(0)
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return p.general.MatchString(string(text))
		}
		state = p.next[state][c]
	}
	return p.holds[state]
}

// tabler makes the table of a program: a state is the set of instructions that wait
// for the next character.
type tabler struct {
	prog   *syntax.Prog
	states map[string]uint8 // by their instructions, which are sorted
	sets   [][]uint32
	next   [][utf8.RuneSelf]uint8
	holds  []bool
}

// make reports whether the table is whole.
func (t *tabler) make() bool {
	start, ok := t.reach([]uint32{uint32(t.prog.Start)}, syntax.EmptyBeginText)
	if _, few := t.state(start); !ok || !few {
		return false
	}
	groups := t.groups()
	for n := 0; n < len(t.sets); n++ {
		for _, group := range groups {
			c := group[0]
			var to []uint32
			done := false
			for _, pc := range t.sets[n] {
				switch inst := &t.prog.Inst[pc]; {
				case inst.Op == syntax.InstMatch:
					done = true // whatever follows
					to = append(to, pc)
				case takes(inst) && inst.MatchRune(c):
					to = append(to, inst.Out)
				}
			}
			if !done {
				to = append(to, uint32(t.prog.Start)) // it may begin here as well
			}
			set, ok := t.reach(to, 0)
			state, few := t.state(set)
			if !ok || !few {
				return false
			}
			for _, c := range group {
				t.next[n][c] = state
			}
		}
	}
	return true
}

// groups are the characters, those together that no instruction tells apart.
func (t *tabler) groups() [][]rune {
	var groups [][]rune
	known := map[string]int{}
	for c := range rune(utf8.RuneSelf) {
		var by []byte
		for i := range t.prog.Inst {
			if inst := &t.prog.Inst[i]; takes(inst) && inst.MatchRune(c) {
				by = append(by, byte(i), byte(i>>8))
			}
		}
		n, ok := known[string(by)]
		if !ok {
			n = len(groups)
			known[string(by)] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], c)
	}
	return groups
}

// takes reports whether an instruction takes a character.
func takes(inst *syntax.Inst) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// reach follows the instructions that take no character. Those that wait for the
// end of the text stay; ok is false where one waits for something else.
func (t *tabler) reach(from []uint32, at syntax.EmptyOp) (set []uint32, ok bool) {
	seen := make([]bool, len(t.prog.Inst))
	for todo := slices.Clone(from); len(todo) > 0; {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch inst := &t.prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, inst.Out)
		case syntax.InstEmptyWidth:
			op := syntax.EmptyOp(inst.Arg)
			switch {
			case op&^at == 0:
				todo = append(todo, inst.Out)
			case op == syntax.EmptyEndText:
				set = append(set, pc)
			case op != syntax.EmptyBeginText:
				return nil, false
			}
		case syntax.InstFail:
		default:
			set = append(set, pc)
		}
	}
	slices.Sort(set)
	return set, true
}

// state numbers a set; few is false where there are too many.
func (t *tabler) state(set []uint32) (n uint8, few bool) {
	if matched := slices.ContainsFunc(set, func(pc uint32) bool { return t.prog.Inst[pc].Op == syntax.InstMatch }); matched {
		set = slices.DeleteFunc(slices.Clone(set), func(pc uint32) bool { return t.prog.Inst[pc].Op != syntax.InstMatch })
	}
	name := fmt.Sprint(set)
	if n, ok := t.states[name]; ok {
		return n, true
	}
	if len(t.sets) == mostStates {
		return 0, false
	}
	n = uint8(len(t.sets))
	t.states[name] = n
	t.sets = append(t.sets, set)
	t.next = append(t.next, [utf8.RuneSelf]uint8{})
	t.holds = append(t.holds, t.ends(set))
	return n, true
}

// ends reports whether a text may end in a state.
func (t *tabler) ends(set []uint32) bool {
	at, _ := t.reach(set, syntax.EmptyEndText)
	return slices.ContainsFunc(at, func(pc uint32) bool { return t.prog.Inst[pc].Op == syntax.InstMatch })
}
