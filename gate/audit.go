package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/penstock-run/penstock/dag"
)

// Report is what an audit found, and what a repair did.
type Report struct {
	Records    int      `json:"records"`           // lines of the data files
	Evidence   int      `json:"evidence"`          // rows of the evidence
	Rejections int      `json:"rejections"`        // rows of the rejection records
	Review     int      `json:"review"`            // rows of the review queue
	Repairs    []Mended `json:"repairs,omitempty"` // in their order
	Faults     []Fault  `json:"faults"`            // none: the corpus is what the gate promised
	Notes      []Fault  `json:"notes,omitempty"`   // what is not wrong and yet waits for a person
}

// Clean reports whether nothing is wrong.
func (r *Report) Clean() bool { return len(r.Faults) == 0 }

// Fault is one thing that is wrong, and what to do about it.
type Fault struct {
	Path string `json:"path"`
	Line int    `json:"line,omitzero"` // from 1; 0: the file
	What string `json:"what"`
	More int    `json:"more,omitzero"` // further faults of the same kind in the same file
	Hint string `json:"hint,omitempty"`
}

func (f Fault) String() string {
	what := f.What
	if f.More > 0 {
		what += fmt.Sprintf(" (and %d more like it)", f.More)
	}
	if f.Line == 0 {
		return f.Path + ": " + what
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, what)
}

// shown is how many faults of one kind are told of each file; the last of them
// says how many more there are.
const shown = 10

// Audit compares a corpus with what the gate promised: the chain of the evidence,
// every record against its evidence and its digest, their order, duplicates,
// orphans, torn tails, the rows of every other file, and a journal that waits. One
// cause is told once, however many lines it upsets. It mends nothing and writes
// nothing but its lock. The error is about the audit itself.
func Audit(ctx context.Context, o Options) (Report, error) {
	if err := validate(o.Gate); err != nil {
		return Report{}, &dag.Error{Op: "audit", Kind: dag.KindConfig, Err: err}
	}
	unlock, err := lockForAudit(ctx, o)
	if err != nil {
		return Report{}, corpusError(err)
	}
	defer unlock()
	a, err := runAudit(ctx, o)
	if err != nil {
		return Report{}, corpusError(err)
	}
	return a.report, nil
}

// lockForAudit keeps commits out while the files are compared.
func lockForAudit(ctx context.Context, o Options) (unlock func(), err error) {
	lock := filepath.Join(o.Dir, lockPath)
	if _, err := os.Stat(lock); errors.Is(err, fs.ErrNotExist) || o.ReadOnly {
		return func() {}, nil
	}
	l := o.newLocker()
	held, err := l.Lock(ctx)
	if err != nil {
		l.close()
		return nil, err
	}
	return func() { held.Unlock(); l.close() }, nil
}

// newLocker makes a locker for one who opens no gate.
func (o *Options) newLocker() *locker {
	timeout, now := o.LockTimeout, o.Now
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	if now == nil {
		now = time.Now
	}
	return newLocker(filepath.Join(o.Dir, lockPath), timeout, now)
}

// audit is one look at a corpus. What it has noted on the way is what a repair
// goes by.
type audit struct {
	ctx    context.Context
	o      Options
	d      osDisk
	report Report
	told   map[telling]int // of each kind of fault in a file, how many
	last   map[telling]int // and where in the report the last of them stands

	state     checkpointed // of the last checkpoint
	haveState bool
	pending   map[string][]write // of the journal, in order

	evidence evidenceSeen
	diffs    map[string]*dataDiff // of data files that are not as the evidence says
	logs     map[string]*logSeen  // of the other files
	// elsewhere is where the lines of missing records stand that are not gone for good.
	elsewhere map[uint32]standing
	facts     facts
}

// telling names a kind of fault in a file.
type telling struct{ path, kind string }

// facts are what a repair asks of an audit besides the faults.
type facts struct {
	journalWaits bool // committed batches are not in their files
	journalStuck bool // and cannot be put there: the files are not as they were
	stateUnfit   bool // the state does not fit, or cannot be read
	noIdentity   bool
	noJournal    bool
	unmendable   bool // the identity is of another version, or cannot be read
}

func newAudit(ctx context.Context, o Options) *audit {
	return &audit{
		ctx: ctx, o: o, d: osDisk{o.Dir}, told: map[telling]int{}, last: map[telling]int{},
		pending: map[string][]write{}, diffs: map[string]*dataDiff{}, logs: map[string]*logSeen{},
	}
}

// runAudit is called with the corpus locked.
func runAudit(ctx context.Context, o Options) (*audit, error) {
	a := newAudit(ctx, o)
	for _, step := range []func() error{
		a.readIdentity, a.readState, a.readJournal, a.readEvidence, a.readData, a.readLogs, a.compareStates, a.leftovers,
	} {
		if err := step(); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// fault tells of one thing. The kind says which faults of a file are like it.
func (a *audit) fault(kind, path string, line int, hint, what string, args ...any) {
	t := telling{path, kind}
	if a.told[t]++; a.told[t] > shown {
		a.report.Faults[a.last[t]].More++
		return
	}
	a.last[t] = len(a.report.Faults)
	a.report.Faults = append(a.report.Faults, Fault{Path: path, Line: line, What: fmt.Sprintf(what, args...), Hint: hint})
}

// faulty reports whether anything was told of a file.
func (a *audit) faulty(path string) bool {
	return slices.ContainsFunc(a.report.Faults, func(f Fault) bool { return f.Path == path })
}

func (a *audit) note(path, what, hint string) {
	a.report.Notes = append(a.report.Notes, Fault{Path: path, What: what, Hint: hint})
}

// What to do, where it does not depend on the line.
const (
	hintRepair   = "`penstock audit --repair` mends it"
	hintCopy     = "put it back as it was, from a copy or by taking the edit back: what it said stands nowhere else"
	hintCopyFile = "put the file back from a copy that is as new as the corpus"
	hintRecord   = "put the line back as it was, from a copy or by taking the edit back; a changed record is a new candidate of the gate"
	hintForeign  = "`penstock audit --repair` moves it to a file beside this one; to have it in the corpus, hand it in to the gate"
	hintUTF16    = "write it in UTF-8, without a byte order mark: iconv -f UTF-16 -t UTF-8"
	hintConflict = "keep the side that was accepted here, and hand in to the gate again what the other side had"
)
