package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/penstock-run/penstock/dag"
)

// judgement is what is known of a candidate on its way to a verdict.
type judgement struct {
	g       *Gate
	c       *Candidate
	scope   *scope
	members []dag.Doc // in the order of the candidate's block
	web     *web      // what the network phase reads
	exempt  []string  // hosts that it read only because allow_hosts names them

	results  []CheckResult
	states   []checkState
	findings []dag.Finding // of the item, then of the checks
	details  []Detail
	message  string
	beaten   bool         // a check failed that is not shadowed
	recorded bool         // the very record is in the corpus, so the locked checks were not asked
	refused  *dag.Failure // the candidate itself could not be made

	record *recordParts // nil where the candidate is not on its way into the corpus
	former *recordParts // of one that is not: what its record would be, if it can be made
}

// checkState is what a check came to, for the admission.
type checkState struct {
	check  *check
	result result
	asked  bool // under the locks, which only a check of the locked phase is
}

// Evaluate runs the checks that need no lock. Many may be called at once. It never
// fails: what went wrong stands in the evaluation, and Commit passes it on.
func (g *Gate) Evaluate(ctx context.Context, c *Candidate) *Evaluation {
	e := &Evaluation{c: c}
	if err := g.evaluate(ctx, e); err != nil {
		e.err = candidateError(c, err)
	}
	return e
}

// candidateError is an error that counts for nothing.
func candidateError(c *Candidate, err error) error {
	var known *dag.Error
	if errors.As(err, &known) {
		return err
	}
	if named := corpusError(err); dag.KindOf(named) == dag.KindDiffers {
		return named
	}
	return &dag.Error{Op: "judge the candidate", Subject: c.Key, Kind: dag.KindInfrastructure, Code: dag.EStore, Err: err}
}

// recovered makes a panic an error about a candidate, never a verdict.
func recovered(err *error, c *Candidate) {
	if p := recover(); p != nil {
		*err = &dag.Error{Op: "judge the candidate", Subject: c.Key, Kind: dag.KindBug, Err: fmt.Errorf("the gate panicked: %v", p)}
	}
}

func (g *Gate) evaluate(ctx context.Context, e *Evaluation) (err error) {
	defer recovered(&err, e.c)
	if err := ctx.Err(); err != nil {
		return err
	}
	c := e.c
	j := &judgement{g: g, c: c, scope: g.newScope(c), web: &web{reader: g.pages}, findings: append([]dag.Finding(nil), c.Findings...)}
	j.scope.checks = &j.states
	e.j = j
	if c.Stop != nil {
		return g.lookUp(e, stopDigest(c.Stop))
	}
	if err := j.makeMembers(); err != nil {
		return err
	}
	if err := g.lookUp(e, candidateDigest(c, g.spec.Candidate, j.members)); err != nil || e.known != nil {
		return err
	}
	if c.As != "" || j.refused != nil {
		return j.knownTriage(c.As)
	}
	j.results, j.states = make([]CheckResult, 0, len(g.checks)), make([]checkState, 0, len(g.checks))
	err = j.phases(ctx)
	j.exempt, j.web = j.web.exempt(), nil // pages are large, and an evaluation may wait for its commit
	if err != nil {
		return err
	}
	if !j.mayEnter() {
		if former, err := j.makeLine(); err == nil {
			j.former = former
		}
		return nil
	}
	return j.makeRecord(e.key)
}

// lookUp finds the verdict on this very candidate, if there is one.
func (g *Gate) lookUp(e *Evaluation, digest dag.Digest) error {
	e.key = g.acceptKey(e.c, digest)
	if err := g.ledger.load(); err != nil {
		return err
	}
	known, err := g.ledger.verdict(e.key)
	if err == nil && known != nil && !(e.c.Anew && known.End != dag.Accepted) {
		e.known = known
	}
	return err
}

// knownTriage refuses a word that an arm could not have said.
func (j *judgement) knownTriage(as dag.Triage) error {
	if as != "" && (as.Severity() <= dag.Accept.Severity()) {
		return &dag.Error{Op: "record an item", Subject: j.c.Key, Kind: dag.KindBug,
			Err: fmt.Errorf("as is %q; an arm can only record review, quarantine, skip or reject", as)}
	}
	return nil
}

// makeMembers evaluates the candidate's members. One that cannot be made is a
// failure of the item, unless the item is only recorded.
func (j *judgement) makeMembers() error {
	j.members = make([]dag.Doc, len(j.g.spec.Candidate))
	if err := ValidBucket(j.c.Bucket); err != nil {
		return j.content(err)
	}
	for i, m := range j.g.spec.Candidate {
		doc, err := j.scope.doc(m.Expr)
		if err != nil && j.c.As == "" {
			if err := j.content(fmt.Errorf("candidate.%s: %w", m.Name, err)); err != nil {
				return err
			}
		} else if err != nil && !isContent(err) {
			return err
		}
		j.members[i] = doc
		j.scope.members = append(j.scope.members, doc)
	}
	return nil
}

func isContent(err error) bool {
	var failure *dag.Failure
	return errors.As(err, &failure) && failure.Code.Class() == dag.Content
}

// content notes the first failure that is about the candidate, and gives back
// every other error.
func (j *judgement) content(err error) error {
	var failure *dag.Failure
	if !errors.As(err, &failure) || failure.Code.Class() != dag.Content {
		return err
	}
	if j.refused == nil {
		j.refused = &dag.Failure{Code: failure.Code, Cause: failure.Cause, Message: err.Error()}
	}
	return nil
}

// failedBy makes a content error the failure of a check.
func (j *judgement) failedBy(err error) (result, error) {
	var failure *dag.Failure
	if !errors.As(err, &failure) || failure.Code.Class() != dag.Content {
		return result{}, err
	}
	return result{state: failed, evidence: err.Error(), details: []Detail{{Why: err.Error(), Cause: failure.Code}}}, nil
}

// sound turns what no check may say into "could not tell".
func sound(r result) result {
	if r.figure != nil && (math.IsNaN(*r.figure) || math.IsInf(*r.figure, 0)) {
		return result{details: []Detail{{Why: "the check's figure is no number"}}, evidence: "the check's figure is no number"}
	}
	switch r.state {
	case held:
		return r
	case failed, undecided:
	default:
		r = result{}
	}
	if r.evidence == "" && r.state == undecided {
		r.evidence = "the check did not say what it came to"
	}
	if len(r.details) == 0 {
		r.details = []Detail{{Why: r.evidence}}
	}
	return r
}

// notBeside leaves out what another failure says already: too few usable sources
// are also too few domains, and a list that is none has no domain at all, but
// nobody has laundered anything.
func (j *judgement) notBeside(check *check, r result) result {
	if few, counted := r.found["too_few_urls"].(bool); check.spec.Kind != "unrelated" || r.state != failed || counted && !few {
		return r
	}
	for _, done := range j.states {
		if done.check.spec.Kind == "sources" && done.result.state == failed && !shadowed(done.check.spec.Mode) {
			return result{state: notApplicable, evidence: "too few sources, which another check has said"}
		}
	}
	return r
}

func shadowed(m *dag.Mode) bool { return m != nil && !m.Apply }

// take records what a check came to.
func (j *judgement) take(check *check, r result) {
	j.states = append(j.states, checkState{})
	j.results = append(j.results, CheckResult{})
	j.set(len(j.states)-1, check, r)
}

// set makes r the result of the check at i: its result, its finding, its details
// and what expressions may read of it.
func (j *judgement) set(i int, check *check, r result) {
	spec := check.spec
	shadow := shadowed(spec.Mode)
	for k := range r.details {
		r.details[k].Code = spec.Code
	}
	j.states[i] = checkState{check: check, result: r}
	j.results[i] = CheckResult{
		Name: check.name, Kind: spec.Kind, Code: spec.Code, State: r.state.String(), Shadow: shadow,
		Figure: r.figure, Evidence: r.evidence, Details: r.details,
	}
	if r.state == held || r.state == notApplicable {
		return
	}
	f := dag.Finding{Code: spec.Code, Triage: spec.Triage, Stage: j.g.spec.Name, Figure: r.figure, Evidence: r.evidence}
	if f.Triage == "" {
		f.Triage = dag.Reject
	}
	if r.state == undecided {
		f.Triage, f.Evidence = dag.Review, "undecided: "+r.evidence
	}
	if shadow {
		f.Shadow = true
		if f.Triage.Severity() > dag.Review.Severity() {
			f.Noted, f.Triage = f.Triage, dag.Review
		}
	} else {
		j.beaten = true
		if j.message == "" {
			if j.message = spec.Message; j.message == "" {
				j.message = r.evidence
			}
		}
	}
	j.findings = append(j.findings, f)
	j.details = append(j.details, r.details...)
}

// fork is a copy that the locked phase may go on with, so that an evaluation
// whose commit failed can be committed again.
func (j *judgement) fork() *judgement {
	c := *j
	c.results, c.states = slices.Clone(j.results), slices.Clone(j.states)
	c.findings, c.details = slices.Clip(j.findings), slices.Clip(j.details) // they are only added to
	scope := *j.scope
	scope.checks = &c.states
	c.scope = &scope
	if j.record != nil {
		record := *j.record
		c.record = &record
	}
	return &c
}

// foundDoc is checks.<name>.
func foundDoc(r result) (dag.Doc, error) {
	row := map[string]any{"state": r.state.String()}
	maps.Copy(row, r.found)
	if r.figure != nil {
		row["figure"] = *r.figure
	}
	line, err := rowOf(row)
	if err != nil {
		return dag.Doc{}, err
	}
	return dag.Doc{Bytes: line[:len(line)-1]}, nil
}

// triage merges the findings: the most severe wins, on a tie the earlier. A word
// that is none is as severe as can be.
func (j *judgement) triage() (dag.Triage, *dag.Finding) {
	triage := dag.Accept
	var by *dag.Finding
	for i := range j.findings {
		f := &j.findings[i]
		t := f.Triage
		if t.Severity() < 0 {
			t = dag.Reject
		}
		if t.Severity() > triage.Severity() {
			triage, by = t, f
		}
	}
	return triage, by
}

// undecidedParks reports whether a check could not tell and such items are parked.
// One that is refused whatever that check would have said is refused: it would be
// parked by every run anew.
func (j *judgement) undecidedParks() (string, bool) {
	if triage, _ := j.triage(); j.g.spec.Undecided != "parked" || triage.Severity() > dag.Review.Severity() {
		return "", false
	}
	for _, done := range j.states {
		if done.result.state == undecided && !shadowed(done.check.spec.Mode) {
			return done.check.name + " could not tell: " + done.result.evidence, true
		}
	}
	return "", false
}

// mayEnter reports whether only the locked checks stand between the candidate and
// a verdict that they could still change.
func (j *judgement) mayEnter() bool {
	triage, _ := j.triage()
	return !j.beaten && j.refused == nil && triage.Severity() < dag.Reject.Severity()
}
