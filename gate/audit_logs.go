package gate

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// logSeen is what an audit knows of a file of verdicts or of breakers.
type logSeen struct {
	name     string
	sealed   bool // its first bytes are those of the last checkpoint
	torn     bool
	conflict bool
	moveable map[int]bool // lines that are no rows, or are rows a second time
	forms    spans
}

// readLogs reads what else the gate has recorded. A row of it bears no digest; the
// seal of the last checkpoint covers all of them together.
func (a *audit) readLogs() error {
	for _, log := range []struct {
		name  string
		count *int
		row   func(*logReader, *unit) string
	}{
		{a.o.Gate.Rejections, &a.report.Rejections, (*logReader).decision},
		{verdictsPath, new(int), (*logReader).decision},
		{reviewPath, &a.report.Review, (*logReader).queued},
		{breakersPath, new(int), (*logReader).breaker},
	} {
		if log.name == "" {
			continue
		}
		r := &logReader{a: a, name: log.name, row: log.row, seen: map[key]verdictAt{}, breakers: map[string]breakerRow{}}
		if err := r.read(); err != nil {
			return err
		}
		*log.count = r.rows
	}
	return nil
}

// verdictAt is where a verdict is recorded, and the first half of its row's digest.
type verdictAt struct {
	line int
	row  key
}

type logReader struct {
	a        *audit
	name     string
	row      func(*logReader, *unit) (what string)
	rows     int
	seen     map[key]verdictAt // by accept key
	breakers map[string]breakerRow
}

func (r *logReader) read() error {
	a := r.a
	v, err := a.view(r.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // compareStates asks whether it was there
	}
	if err != nil {
		return err
	}
	defer v.close()
	log := &logSeen{name: r.name, moveable: map[int]bool{}}
	a.logs[r.name] = log
	if v.isUTF16() {
		a.fault("utf16", r.name, 0, hintUTF16, "the file is written in UTF-16")
		return nil
	}
	x := &explained{a: a, name: r.name}
	h, sealed := sha256.New(), a.state.Seals[r.name].Size
	err = v.eachUnit(a.ctx, func(u *unit) error {
		if sealed > u.off {
			h.Write(u.raw[:min(int64(len(u.raw)), sealed-u.off)])
		}
		if x.conflict(u) {
			return nil
		}
		if u.torn {
			log.torn = true
			a.tornTail(r.name, u, v.size(), "")
			return nil
		}
		r.rows++
		if u.text == nil {
			log.moveable[u.n] = true
			a.fault("no row", r.name, u.n, "`penstock audit --repair` moves it to a file beside this one", "%s", strange(u))
			return nil
		}
		log.forms.add(u)
		if what := r.row(r, u); what != "" {
			log.moveable[u.n] = true
			a.fault("no row", r.name, u.n, "`penstock audit --repair` moves it to a file beside this one", "%s", what)
		}
		return nil
	})
	if err != nil {
		return err
	}
	log.conflict = len(x.conflicts) > 0
	for _, c := range x.conflicts {
		a.fault("conflict", r.name, c[0], hintConflict, "lines %d to %d are a merge that was not resolved", c[0], c[1])
	}
	log.forms.flush(a, r.name)
	want, ok := a.state.Seals[r.name].sum()
	log.sealed = ok && v.size() >= sealed && bytes.Equal(h.Sum(nil), want[:])
	return nil
}

var endsByContent = []dag.End{dag.Rejected, dag.Failed, dag.Skipped, dag.Reviewed, dag.Quarantined}

// decision reads a verdict; it gives what is wrong with it where it is no row.
func (r *logReader) decision(u *unit) (what string) {
	_, what = r.decide(u)
	return what
}

func (r *logReader) decide(u *unit) (row decisionRow, what string) {
	if json.Unmarshal(u.text, &row) != nil {
		return row, "the line is no verdict of this gate"
	}
	k, err := parseKey(row.AcceptKey)
	if err != nil || !slices.Contains(endsByContent, row.End) {
		return row, "the line is no verdict of this gate"
	}
	if _, err := time.Parse(time.RFC3339, row.At); err != nil {
		return row, "the line is no verdict of this gate: it has no time"
	}
	if row.Anew {
		return row, ""
	}
	digest := dag.Sum(u.text)
	sum := key(digest[:16])
	switch earlier := r.seen[k]; {
	case earlier.line == 0:
		r.seen[k] = verdictAt{u.n, sum}
	case earlier.row == sum:
		r.a.fault("again", r.name, u.n, hintRepair, "the verdict on %s is recorded in line %d already", row.Item, earlier.line)
		r.a.logs[r.name].moveable[u.n] = true
	default:
		r.a.fault("other", r.name, u.n, hintCopy, "the verdict on %s is recorded in line %d already, and otherwise", row.Item, earlier.line)
	}
	return row, ""
}

// queued reads a row of the review queue.
func (r *logReader) queued(u *unit) string {
	row, what := r.decide(u)
	if what == "" && row.ID != "r-"+row.AcceptKey[:12] {
		r.a.fault("id", r.name, u.n, hintCopy, "the row has the id %s, which is not that of its verdict, r-%s", row.ID, row.AcceptKey[:12])
	}
	return what
}

// breaker reads the state of a breaker and compares it with that before it.
func (r *logReader) breaker(u *unit) string {
	var row breakerRow
	if json.Unmarshal(u.text, &row) != nil || row.Bucket == "" || row.Consecutive < 0 || row.Accepted < 0 || row.Stopped < row.Consecutive {
		return "the line is no state of a breaker"
	}
	if row.TrippedAt != "" {
		if _, err := time.Parse(time.RFC3339, row.TrippedAt); err != nil {
			return "the line is no state of a breaker: " + row.TrippedAt + " is no time"
		}
	}
	last := r.breakers[row.Bucket]
	switch {
	case row.Accepted < last.Accepted || row.Stopped < last.Stopped:
		r.a.fault("counts", r.name, u.n, hintCopy, "the counts of %s are lower than in the row before: %d accepted and %d stopped after %d and %d",
			row.Bucket, row.Accepted, row.Stopped, last.Accepted, last.Stopped)
	case last.TrippedAt != "" && row.TrippedAt == "" && !row.Reset:
		r.a.fault("counts", r.name, u.n, hintCopy, "the breaker of %s was open and is closed without a reset", row.Bucket)
	}
	r.breakers[row.Bucket] = row
	return ""
}
