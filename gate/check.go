package gate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// check is one rule of a gate, ready to be run.
type check struct {
	spec  *dag.Check
	name  string
	phase dag.Phase
	run   checker
}

// checker is what a kind of check implements. It says what it found; whether that
// is an accept is not its business.
type checker interface {
	judge(s *scope) (result, error)
}

// webChecker is a checker that reads pages. Its judge runs before, without the
// network, and prepares; where that held, online decides.
type webChecker interface {
	checker
	online(ctx context.Context, prepared result, w *web) (result, error)
}

// againChecker is a checker of the static phase that is asked again after a check
// which read pages held, with what it had found before.
type againChecker interface {
	checker
	again(given result, w *web) (result, error)
}

// lockedChecker is a checker that is asked again under the locks. Its judge runs
// before, and prepares.
type lockedChecker interface {
	checker
	locked(prepared result, b *batch) (result, error)
}

// state is what a check came to. The zero state is none that a check may end
// with, so that a result which nobody filled in is not taken for one.
type state int

const (
	undecided     state = iota // it could not tell
	held                       // the rule holds
	failed                     // it does not
	notApplicable              // its `if` is false
)

// result is what a check found.
type result struct {
	state    state
	details  []Detail // why it failed, or could not tell; at least one then
	figure   *float64
	evidence string         // one line, for the finding
	found    map[string]any // more members for checks.<name>
	keys     []key          // unique: what the record is to be found by
	words    *words         // novel: what is to be compared
	usable   map[string]int // sources: of each URL, how many usable sources have it
	asked    []source       // live, quoted: what is to be read; unrelated: the URLs that lend a domain, others empty
}

// passed is the result of a rule that holds.
func passed(found map[string]any) result { return result{state: held, found: found} }

// refused is the result of a rule that does not hold, for one cause.
func refused(at, format string, args ...any) result {
	why := fmt.Sprintf(format, args...)
	return result{state: failed, details: []Detail{{At: at, Why: why}}, evidence: why}
}

// withFigure adds the number that decided.
func (r result) withFigure(n int) result {
	f := float64(n)
	r.figure = &f
	return r
}

// CheckResult is what a check came to, for people and for the record.
type CheckResult struct {
	Name     string        `json:"name"`
	Kind     dag.CheckKind `json:"kind"`
	Code     dag.Code      `json:"code"`
	State    string        `json:"state"` // "held", "failed", "undecided", "not_applicable"
	Shadow   bool          `json:"shadow,omitzero"`
	Figure   *float64      `json:"figure,omitempty"`
	Evidence string        `json:"evidence,omitempty"`
	Details  []Detail      `json:"details,omitempty"`
}

func (s state) String() string {
	switch s {
	case held:
		return "held"
	case failed:
		return "failed"
	case notApplicable:
		return "not_applicable"
	}
	return "undecided"
}

// makers has one entry for each kind that this version runs.
func makers() map[dag.CheckKind]func(*dag.Check) (checker, error) {
	return map[dag.CheckKind]func(*dag.Check) (checker, error){
		"schema":      newSchemaCheck,
		"assert":      newAssertCheck,
		"fresh":       newFreshCheck,
		"independent": newIndependentCheck,
		"distinct":    newDistinctCheck,
		"leak":        newLeakCheck,
		"words":       newWordsCheck,
		"phrases":     newPhrasesCheck,
		"sources":     newSourcesCheck,
		"live":        newLiveCheck,
		"quoted":      newQuotedCheck,
		"unique":      newUniqueCheck,
		"votes":       newVotesCheck,
		"novel":       newNovelCheck,
	}
}

func compileChecks(g *dag.Gate) ([]*check, error) {
	kinds := makers()
	// The table of owners belongs to the gate, not to the check.
	kinds["unrelated"] = func(c *dag.Check) (checker, error) { return newUnrelatedCheck(c, g.SameOwner) }
	var out []*check
	names := CheckNames(g)
	last := dag.Static
	for i, spec := range g.Checks {
		c, err := compileCheck(spec, kinds)
		if err != nil {
			return nil, fmt.Errorf("check %q: %w", spec.Kind, err)
		}
		c.name = names[i]
		if c.phase < last {
			return nil, fmt.Errorf("check %q stands after a check of a later phase; the order is static, network, locked", spec.Kind)
		}
		last = c.phase
		out = append(out, c)
	}
	return out, nil
}

// CheckNames are the names of a gate's checks, in their order: as results have
// them.
//
// Two checks of a kind need no names of their own until something reads one;
// then the first is meant, and the language has said so.
func CheckNames(g *dag.Gate) []string { return g.CheckNames() }

func compileCheck(spec *dag.Check, kinds map[dag.CheckKind]func(*dag.Check) (checker, error)) (*check, error) {
	info, ok := dag.LookupCheck(spec.Kind)
	if !ok {
		return nil, errors.New("there is no such kind")
	}
	maker := kinds[spec.Kind]
	if maker == nil {
		return nil, errors.New("it is not supported yet")
	}
	if spec.Code == "" {
		return nil, errors.New("it has no code")
	}
	switch spec.Triage {
	case "", dag.Review, dag.Quarantine, dag.Skip, dag.Reject:
	default:
		return nil, fmt.Errorf("its triage is %q; a check that fails cannot accept", spec.Triage)
	}
	for _, arg := range info.Args {
		inArgs := arg.Type != "stage" && arg.Type != "stages" && arg.Type != "schema"
		if arg.Required && inArgs && spec.Args[arg.Name] == nil {
			return nil, fmt.Errorf("it has no %s", arg.Name)
		}
	}
	run, err := maker(spec)
	if err != nil {
		return nil, err
	}
	return &check{spec: spec, phase: info.Phase, run: run}, nil
}

// constant reads an argument that is known before the first candidate.
func constant[T any](c *dag.Check, name string, otherwise T) (T, error) {
	e := c.Args[name]
	if e == nil {
		return otherwise, nil
	}
	doc, err := e.Doc(constants{})
	if err != nil {
		return otherwise, fmt.Errorf("%s: %w", name, err)
	}
	var v T
	if doc.IsNull() {
		return otherwise, nil
	}
	if err := json.Unmarshal(doc.Bytes, &v); err != nil {
		return otherwise, fmt.Errorf("%s is %s: %w", name, doc.Bytes, err)
	}
	return v, nil
}

// constantInt reads a whole number; JSON knows no other kind than 3 and 3.0.
func constantInt(c *dag.Check, name string, otherwise, least int) (int, error) {
	f, err := constant(c, name, float64(otherwise))
	if err != nil {
		return 0, err
	}
	if f != math.Trunc(f) || math.Abs(f) > 1<<53 || int(f) < least && c.Args[name] != nil {
		return 0, fmt.Errorf("%s is %v; it must be a whole number of at least %d", name, f, least)
	}
	return int(f), nil
}

// constantDuration reads a time such as "20s".
func constantDuration(c *dag.Check, name string, otherwise time.Duration) (time.Duration, error) {
	written, err := constant(c, name, "")
	if err != nil || written == "" && c.Args[name] == nil {
		return otherwise, err
	}
	d, err := time.ParseDuration(written)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s is %q; write a number above zero with a unit, such as \"20s\"", name, written)
	}
	return d, nil
}

// constants is the scope of a constant: nothing can be read.
type constants struct{}

func (constants) Lookup(name dag.Name) (dag.Doc, error) {
	return dag.Doc{}, fmt.Errorf("%s is read; this argument must be known before the run", name)
}
