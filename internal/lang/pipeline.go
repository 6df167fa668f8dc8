package lang

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"

	"github.com/hashicorp/hcl/v2"
)

var pipelineShape = shape{
	may:    []string{"description", "requires", "replay", "prices"},
	blocks: one("budget"),
}

func (l *loader) loadPipeline() {
	blocks := l.blocks["pipeline"]
	if len(blocks) == 0 {
		if l.empty() && !l.broken && !l.diags.HasErrors() {
			l.error(hcl.Range{Filename: l.mainFile()}, emptyPipeline, "The file declares nothing. A pipeline that runs, to start from, is made in an empty directory by\n    penstock init")
			l.broken = true
		}
		if !l.broken {
			l.error(hcl.Range{Filename: l.mainFile()}, missingBlock, "A pipeline has a name. Write at the top of the file:\n    pipeline \"NAME\" {}")
		}
		return
	}
	for _, b := range blocks[1:] {
		l.twice(b.DefRange(), blocks[0].DefRange(), duplicateBlock, "A pipeline has one pipeline block, also where several files are read as one.")
	}
	block := blocks[0]
	b := l.open(block, pipelineShape)
	p := dag.Pipeline{Name: block.Labels[0], Description: b.text("description"), Requires: b.text("requires"), Replay: b.file("replay"), Prices: b.file("prices"), Pos: l.pos(block.DefRange())}
	if !usableName(p.Name) {
		b.fail(block.LabelRanges[0], badName, "The pipeline's name stands in accept keys and file names: letters, digits, _ . and - only, up to 100, and a letter or digit first.")
	}
	if p.Requires != "" {
		l.checkRequires(b.expr("requires").Range(), p.Requires)
	}
	if budget := b.block("budget"); budget != nil {
		q := l.open(budget, shape{may: []string{"calls", "tokens", "usd"}})
		p.Budget = dag.Budget{Calls: q.count("calls", 1, 0), Tokens: q.count("tokens", 1, 0), USD: q.amount("usd")}
		if q.has("usd") && q.ok {
			l.budgetAt = q.attrs["usd"].SrcRange
		}
	}
	l.loadPrices(b, p.Prices)
	l.graph.Pipeline = p
}

// empty tells that no file declares anything.
func (l *loader) empty() bool {
	for _, blocks := range l.blocks {
		if len(blocks) > 0 {
			return false
		}
	}
	return true
}

func (l *loader) mainFile() string {
	if i := strings.LastIndexByte(l.opts.File, '/'); i >= 0 {
		return l.opts.File[i+1:]
	}
	return l.opts.File
}

func usableName(s string) bool {
	if s == "" || len(s) > 100 {
		return false
	}
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("_.-", r)) {
			return false
		}
	}
	return true
}

// checkRequires compares a constraint such as ">= 0.1.0, < 2.0.0" with this
// version of Penstock.
func (l *loader) checkRequires(at hcl.Range, constraint string) {
	version := "v" + strings.TrimPrefix(l.opts.Version, "v")
	for _, part := range strings.Split(constraint, ",") {
		op, want, ok := splitConstraint(strings.TrimSpace(part))
		if !ok {
			l.error(at, badConstraint, fmt.Sprintf("%q is no version constraint. Write operators and versions, separated by commas: \">= 0.1.0, < 2.0.0\"; the operators are = != > >= < <= and ~>.", part))
			return
		}
		if semver.IsValid(version) && !holds(op, version, want) {
			l.error(at, wrongVersion, fmt.Sprintf("The pipeline requires Penstock %s; this is %s. Install a version that fits, or change `requires`.", constraint, strings.TrimPrefix(version, "v")))
			return
		}
	}
}

func splitConstraint(s string) (op, version string, ok bool) {
	version = strings.TrimLeft(s, "=!<>~")
	op = s[:len(s)-len(version)]
	version = "v" + strings.TrimPrefix(strings.TrimSpace(version), "v")
	switch op {
	case "", "=", "!=", ">", ">=", "<", "<=", "~>":
		return op, version, semver.IsValid(version)
	}
	return "", "", false
}

func holds(op, version, want string) bool {
	// A prerelease of a version has what the version has.
	release := strings.TrimSuffix(strings.TrimSuffix(version, semver.Build(version)), semver.Prerelease(version))
	c := semver.Compare(release, want)
	switch op {
	case "", "=":
		return c == 0
	case "!=":
		return c != 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	}
	// ~> lets the last number that is written grow.
	if strings.Count(want, ".") >= 2 {
		return c >= 0 && semver.MajorMinor(release) == semver.MajorMinor(want)
	}
	return c >= 0 && semver.Major(release) == semver.Major(want)
}

var failureShape = shape{need: []string{"meaning"}, may: []string{"triage", "retired"}}

// triages are the words of triage.
var triages = []string{string(dag.Accept), string(dag.Review), string(dag.Quarantine), string(dag.Skip), string(dag.Reject)}

func (l *loader) loadFailures() {
	for _, block := range l.blocks["failure"] {
		name := block.Labels[0]
		f := l.names["failure"].nodes[name].(*dag.FailureCode)
		b := l.open(block, failureShape)
		switch {
		case strings.HasPrefix(name, "E_"):
			b.fail(block.LabelRanges[0], badCode, "Codes that begin with E_ are the engine's. Choose another beginning; a stage gives its own code to engine codes with `code = failure.X`.")
		case !isCode(name):
			b.fail(block.LabelRanges[0], badCode, sentence(fmt.Sprintf("%q is no failure code: codes are written in capitals, digits and _, with a letter first.", name), suggestCode(name)))
		}
		f.Meaning = b.required("meaning")
		f.Retired = b.flag("retired", false)
		if w := b.word("triage", triages...); w != "" {
			f.Triage = dag.Triage(w)
		}
		l.graph.Codes = append(l.graph.Codes, f)
	}
}

func isCode(s string) bool {
	for i, r := range s {
		if !(r >= 'A' && r <= 'Z' || i > 0 && (r >= '0' && r <= '9' || r == '_')) {
			return false
		}
	}
	return s != ""
}

func suggestCode(name string) string {
	up := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
	if !isCode(up) {
		return ""
	}
	return fmt.Sprintf("Write %s.", up)
}

// checkCodes complains of codes that nothing gives: a code is a promise to
// those who read the records.
func (l *loader) checkCodes() {
	for _, f := range l.graph.Codes {
		if l.usedCodes[f.Code] || f.Retired || l.broken || l.misnamed || !isCode(string(f.Code)) || strings.HasPrefix(string(f.Code), "E_") {
			continue
		}
		l.error(l.names["failure"].at[string(f.Code)], unusedCode, fmt.Sprintf("Nothing gives the code %s. If it was in use once, keep it for those who read old records, with\n    retired = true\nelse remove the block.", f.Code))
	}
}

// engineCodes are the engine's content codes: those that a `fail` can match.
var engineCodes = []string{
	string(dag.EOutput), string(dag.EOutcome), string(dag.ERefused), string(dag.ETruncated), string(dag.EMalformed), string(dag.EMask),
	string(dag.EExpr), string(dag.EExec), string(dag.EFinding), string(dag.EMissing), string(dag.EFanOut), string(dag.EPluginCrash), string(dag.EDocument),
}

// neverRouted are engine codes that end an item before its first visit, or
// after its last.
var neverRouted = map[dag.Code]string{
	dag.EInput:        "it ends an item before its first visit. A source gives such items a code of yours with `schema` and `code`.",
	dag.EDuplicateKey: "it ends an item before its first visit. Give each item a key of its own, with `key` in the source.",
	dag.EBucket:       "it ends an item whose bucket is no usable name. Mend `bucket` in the gate.",
	dag.EExhausted:    "it ends an item at an edge that was taken too often. Write `exhausted { … }` beside `max`.",
}

// failsWith reports whether a visit of the stage can fail with a code of the
// pipeline's.
func failsWith(s *dag.Stage, code dag.Code) bool {
	return s.Code == code || s.MustCode == code || s.FanOut != nil && s.FanOut.Code == code ||
		s.Info != nil && slices.Contains(s.Info.Codes, code)
}

// failLabel reads the label of a fail block: a code of the pipeline or of the engine.
func (l *loader) failLabel(r *dag.Route, label string, at hcl.Range) (dag.Code, bool) {
	for _, code := range engineCodes {
		if code == label {
			return dag.Code(label), true
		}
	}
	if why, ok := neverRouted[dag.Code(label)]; ok {
		l.error(at, deadArm, fmt.Sprintf("No visit fails with %s: %s", label, why))
		return "", false
	}
	if dag.Code(label).Class() == dag.Infrastructure {
		l.error(at, infrastructureRouted, fmt.Sprintf("%s is a failure of infrastructure. It says nothing about the item, so it is retried (see the stage's retry block) and never routed.", label))
		return "", false
	}
	if _, ok := l.names["failure"].nodes[label]; ok {
		if !l.broken && len(r.From) > 0 && !slices.ContainsFunc(r.From, func(s *dag.Stage) bool { return failsWith(s, dag.Code(label)) }) {
			l.error(at, deadArm, fmt.Sprintf("None of the stages that this route leads out of fails with %s, so this is never taken. Write `code = failure.%s` in the stage whose failures are meant, or match the engine's code, as in\n    fail \"E_OUTPUT\" { … }", label, label))
			return "", false
		}
		return dag.Code(label), true
	}
	candidates := append(append([]string{}, l.names["failure"].names...), engineCodes...)
	l.error(at, unknownSummary["failure"], sentence(fmt.Sprintf("There is no failure code %q, neither declared nor the engine's.", label), diag.DidYouMean(label, candidates)))
	return "", false
}
