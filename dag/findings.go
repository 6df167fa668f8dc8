package dag

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// applied reports whether what names the mode is applied, not shadowed. No
// mode at all is applied.
func (m *Mode) applied() bool { return m == nil || m.Apply }

// Findings are those that are not stale, in the order in which they were left.
func (t *Traversal) Findings() []Finding { return slices.Clone(t.left) }

// Triage is what the findings so far come to: the most severe wins.
func (t *Traversal) Triage() Triage {
	worst := Accept
	for i := range t.left {
		if t.left[i].Triage.Severity() > worst.Severity() {
			worst = t.left[i].Triage
		}
	}
	return worst
}

// finding is the one of a code: the most severe, on a tie the earlier.
func (t *Traversal) finding(code Code) *Finding {
	var found *Finding
	for i := range t.left {
		f := &t.left[i]
		if f.Code == code && (found == nil || f.Triage.Severity() > found.Triage.Severity()) {
			found = f
		}
	}
	return found
}

// without is the list less what a stage left. It writes into no memory that a
// trail or a caller may hold.
func without(list []Finding, stage string) []Finding {
	for i := range list {
		if list[i].Stage == stage {
			out := slices.Clone(list[:i])
			for _, f := range list[i+1:] {
				if f.Stage != stage {
					out = append(out, f)
				}
			}
			return out
		}
	}
	return list
}

// shadowed is the finding as shadow mode leaves it: nothing above review.
func (f Finding) shadowed() Finding {
	f.Shadow = true
	if f.Triage.Severity() > Review.Severity() {
		f.Noted, f.Triage = f.Triage, Review
	}
	return f
}

// leave evaluates finding rules: every one that holds leaves its finding, in
// order. In shadow all of them do so lowered.
func (t *Traversal) leave(rules []FindingRule, shadow bool) ([]Finding, *Failure, error) {
	var out []Finding
	for i := range rules {
		r := &rules[i]
		if r.If != nil {
			holds, failure, err := t.holds(r.If, nil)
			if failure != nil || err != nil {
				return nil, failure, err
			}
			if !holds {
				continue
			}
		}
		f := Finding{Code: r.Code, Triage: t.g.index.triageOf(r.Code, r.Triage), Stage: t.at.Name}
		if r.Figure != nil {
			d, failure, err := t.document(r.Figure, true)
			if failure == nil && err == nil {
				f.Figure, failure = number(r.Figure, d)
			}
			if failure != nil || err != nil {
				return nil, failure, err
			}
		}
		if r.Evidence != nil {
			text, failure, err := t.text(r.Evidence, true)
			if failure != nil || err != nil {
				return nil, failure, err
			}
			f.Evidence = line(text, maxLine)
		}
		if shadow || !r.Mode.applied() {
			f = f.shadowed()
		}
		out = append(out, f)
	}
	return out, nil, nil
}

// number reads a figure; null is none.
func number(e Expr, d Doc) (*float64, *Failure) {
	if string(d.Bytes) == "null" {
		return nil, nil
	}
	if jsontext.Value(d.Bytes).Kind() == '0' {
		if n, err := strconv.ParseFloat(string(d.Bytes), 64); err == nil {
			return &n, nil
		}
	}
	return nil, Fail(EExpr, "%s: a figure is a number, this is %s", e.Pos(), line(string(d.Bytes), maxWord))
}

// mapped turns the findings that a plugin left, in its own words, into those of
// the pipeline.
func (t *Traversal) mapped(s *Stage, in []PluginFinding) ([]Finding, *Failure) {
	if len(in) > maxFindings {
		return nil, Fail(EFinding, "a visit of stage.%s left more than %d findings", s.Name, maxFindings)
	}
	var out []Finding
	for _, p := range in {
		f := Finding{Stage: s.Name, Figure: p.Figure, Evidence: p.Evidence}
		if s.Findings != nil {
			f.Code = s.Findings.Codes[p.Word]
		}
		switch {
		case f.Code == "":
			return nil, Fail(EFinding, "stage.%s left a finding %q, which its `findings` does not map to a code", s.Name, p.Word)
		case p.Triage != "" && p.Triage.Severity() < 0:
			return nil, Fail(EFinding, "the finding %q of stage.%s has the triage %q, which is none", p.Word, s.Name, p.Triage)
		case p.Figure != nil && (math.IsNaN(*p.Figure) || math.IsInf(*p.Figure, 0)):
			return nil, Fail(EFinding, "the finding %q of stage.%s has a figure that is no finite number", p.Word, s.Name)
		}
		f.Triage = t.g.index.triageOf(f.Code, p.Triage)
		if !s.Findings.Mode.applied() {
			f = f.shadowed()
		}
		out = append(out, f)
	}
	return out, nil
}

// Note is how a finding that shadow mode lowered is told: `reject:THIN (judge
// shadow)`; empty for every other.
func (f Finding) Note() string {
	if f.Noted == "" {
		return ""
	}
	return strings.Join([]string{string(f.Noted), ":", string(f.Code), " (", f.Stage, " shadow)"}, "")
}
