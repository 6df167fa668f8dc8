package dag

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// settle concludes from a visit that came back: its outcome, what it leaves,
// what travels on; or that it failed after all.
func (t *Traversal) settle() error {
	e, s := &t.event, t.at
	v := Visit{Input: t.input, Action: e.Action, Facts: e.Facts}
	if e.Failure != nil {
		t.fail(v, s.renamed(e.Failure))
		return nil
	}
	c, failure, err := t.conclude(e.Output, e.Word, func() ([]Finding, *Failure, error) {
		list, failure := t.mapped(s, e.Findings)
		return list, failure, nil
	})
	switch {
	case err != nil:
		return err
	case failure != nil:
		t.fail(v, s.renamed(failure))
		return nil
	}
	t.succeed(v, c)
	return nil
}

// conclusion is what follows from a visit that did not fail.
type conclusion struct {
	output   Doc
	outcome  string
	item     Doc // what travels on
	findings []Finding
	children []Child
}

// conclude checks an output against all that the stage promises, and works out
// what follows. said is the outcome in the plugin's word; leaves gives the
// visit's findings once the outcome is known.
func (t *Traversal) conclude(output Doc, said string, leaves func() ([]Finding, *Failure, error)) (c conclusion, failure *Failure, err error) {
	s := t.at
	t.output = output
	defer func() {
		t.word = ""
		if failure != nil || err != nil {
			t.output = Doc{}
		}
	}()
	c.output = output
	if failure, err = t.inMask(s, output); failure != nil || err != nil {
		return c, failure, err
	}
	if c.outcome, failure, err = t.outcome(s, said); failure != nil || err != nil {
		return c, failure, err
	}
	t.word = c.outcome
	if c.findings, failure, err = leaves(); failure != nil || err != nil {
		return c, failure, err
	}
	if s.FanOut != nil {
		c.item = t.item
		c.children, failure, err = t.spawn(s)
		return c, failure, err
	}
	switch {
	case s.ForwardItem:
		c.item = t.item
	case s.Forward != nil:
		if c.item, failure, err = t.document(s.Forward, s.Decide != nil); failure != nil || err != nil {
			return c, failure, err
		}
		t.make(c.item)
	default:
		c.item = output
	}
	return c, nil, nil
}

// outcome is the word that the visit ends with, one of those that the stage
// declares.
func (t *Traversal) outcome(s *Stage, said string) (string, *Failure, error) {
	word := said
	if s.Outcome != nil {
		var failure *Failure
		var err error
		if word, failure, err = t.text(s.Outcome, s.Decide != nil); failure != nil || err != nil {
			return "", failure, err
		}
		word = line(word, maxWord)
	}
	if word == "" && s.Outcome == nil {
		word = "ok"
	}
	if !slices.Contains(s.Outcomes, word) {
		return "", Fail(EOutcome, "stage.%s ended with %q, which it does not declare: it declares %s", s.Name, word, quoted(s.Outcomes, "and")), nil
	}
	return word, nil, nil
}

// renamed is the failure under the stage's own code, where it has one: that
// replaces the engine's content codes, which stay readable as the cause.
func (s *Stage) renamed(f *Failure) *Failure {
	if s.Code == "" || f.Cause != "" {
		return f
	}
	switch f.Code {
	case EOutput, EOutcome, ERefused, ETruncated, EMalformed, EMask:
		return &Failure{Code: s.Code, Cause: f.Code, Message: f.Message}
	}
	return f
}

// fail records a visit that failed. What the stage left before is replaced by
// nothing, and the item is what it was before the visit.
func (t *Traversal) fail(v Visit, f *Failure) {
	f = tidy(t.at.renamed(f))
	st := &t.stages[t.at.Index]
	st.artifact, st.outcome, st.failed = Doc{}, "", f
	t.left = without(t.left, t.at.Name)
	v.Stage, v.Pass, v.Failure, v.Item = t.at.Name, st.pass, f, t.item.Digest
	t.trail.Visits = append(t.trail.Visits, v)
	t.output, t.failure, t.event, t.masked = Doc{}, f, Visited{}, false
	t.phase = phaseRoute
}

// succeed records a visit that did not fail; what it left replaces what the
// stage's last visit left.
func (t *Traversal) succeed(v Visit, c conclusion) {
	i := t.at.Index
	st := &t.stages[i]
	st.artifact, st.outcome = t.kept(i, c.output), c.outcome
	t.left = append(without(t.left, t.at.Name), c.findings...)
	t.item, t.output = c.item, c.output
	v.Stage, v.Pass, v.Output, v.Item, v.Outcome, v.Findings = t.at.Name, st.pass, c.output.Digest, c.item.Digest, c.outcome, c.findings
	t.event, t.masked, t.phase = Visited{}, false, phaseRoute
	if t.at.FanOut != nil {
		v.Item = Digest{}
		t.phase = phaseSpawn
		t.trail.Children = make([]ChildRef, len(c.children))
		for j, child := range c.children {
			t.trail.Children[j] = ChildRef{Key: child.Key, Item: child.Item.Digest}
		}
		t.offer(Step{Kind: DoSpawn, Children: c.children})
	}
	t.trail.Visits = append(t.trail.Visits, v)
}

// decide runs a stage of pure rules: the first that matches wins.
func (t *Traversal) decide(s *Stage, input Doc) error {
	v := Visit{Input: input.Digest}
	output, outcome, failure, err := t.rule(s, input, &v)
	var c conclusion
	if failure == nil && err == nil {
		t.make(input)
		t.make(output)
		c, failure, err = t.conclude(output, outcome, func() ([]Finding, *Failure, error) {
			return t.leave(s.Decide.Findings, false)
		})
	}
	switch {
	case err != nil:
		return err
	case failure != nil:
		t.fail(v, failure)
		return nil
	}
	t.succeed(v, c)
	return nil
}

// rule finds the rule that matches and what it gives.
func (t *Traversal) rule(s *Stage, input Doc, v *Visit) (output Doc, outcome string, failure *Failure, err error) {
	for i := range s.Decide.Rules {
		r := &s.Decide.Rules[i]
		if r.If != nil {
			var holds bool
			if holds, failure, err = t.holds(r.If, &v.Seen); failure != nil || err != nil {
				return Doc{}, "", failure, err
			}
			if !holds {
				continue
			}
		}
		v.Rule = r.Reason
		output = input
		if r.Output != nil {
			if output, failure, err = t.document(r.Output, true); failure != nil || err != nil {
				return Doc{}, "", failure, err
			}
		}
		if s.Schema != nil {
			if err := s.Schema.Validate(output.Bytes); err != nil {
				return Doc{}, "", Fail(EOutput, "the output of rule %q does not fit %s: %v", r.Reason, s.Schema.Name(), err), nil
			}
		}
		return output, r.Outcome, nil, nil
	}
	return Doc{}, "", Fail(EExpr, "%s: no rule of stage.%s holds", s.Pos, s.Name), nil
}

// holds evaluates a condition; what it read is appended to seen.
func (t *Traversal) holds(e Expr, seen *[]Seen) (bool, *Failure, error) {
	t.deciding = true
	ok, err := e.Bool(t, seen)
	t.deciding = false
	failure, err := evaluated(e, err)
	if seen != nil {
		for i := range *seen {
			(*seen)[i].tidy()
		}
	}
	return ok, failure, err
}

// text evaluates to a text. Where run is set, the expression may read `run`.
func (t *Traversal) text(e Expr, run bool) (string, *Failure, error) {
	t.deciding = run
	s, err := e.Text(t)
	t.deciding = false
	failure, err := evaluated(e, err)
	return s, failure, err
}

// document evaluates to a document with bytes and digest; null is the JSON null.
func (t *Traversal) document(e Expr, run bool) (Doc, *Failure, error) {
	t.deciding = run
	d, err := e.Doc(t)
	t.deciding = false
	failure, err := evaluated(e, err)
	if failure != nil || err != nil {
		return Doc{}, failure, err
	}
	if d.IsNull() {
		return NewDoc([]byte("null")), nil, nil
	}
	d, err = t.bytes(identified(d))
	return d, nil, err
}

// evaluated tells an item's fault from the world's.
func evaluated(e Expr, err error) (*Failure, error) {
	if err == nil {
		return nil, nil
	}
	var f *Failure
	if !errors.As(err, &f) {
		return nil, err
	}
	message := f.Message
	if pos := e.Pos(); pos.File != "" && !strings.HasPrefix(message, pos.File+":") { // it may tell a closer place itself
		message = pos.String() + ": " + message
	}
	return &Failure{Code: EExpr, Message: message}, nil
}

// make notes a document that an expression made, unless it is one that came
// from outside or was noted before.
func (t *Traversal) make(d Doc) {
	if d.Bytes == nil || d.Digest == t.item.Digest || d.Digest == t.output.Digest || d.Digest == t.trail.Origin {
		return
	}
	for i := range t.stages {
		if t.stages[i].artifact.Digest == d.Digest {
			return
		}
	}
	for i := range t.made {
		if t.made[i].Digest == d.Digest {
			return
		}
	}
	t.made = append(t.made, d)
}

// kept is what is held of a stage's artifact: its bytes only where some
// expression reads them.
func (t *Traversal) kept(stage int, d Doc) Doc {
	if !t.g.index.keep[stage] {
		d.Bytes = nil
	}
	return d
}

// tidy bounds a value that was read: at most 256 bytes of valid UTF-8.
func (s *Seen) tidy() {
	const most = 256
	if len(s.JSON) > most {
		s.JSON = s.JSON[:most:most]
	}
	if cap(s.JSON) > 2*most {
		s.JSON = bytes.Clone(s.JSON) // a trail must not hold a whole document for it
	}
	if !utf8.Valid(s.JSON) {
		s.JSON = bytes.ToValidUTF8(s.JSON, nil)
	}
	s.Path = line(s.Path, maxLine)
}
