package gate

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// Breaker is the state of a bucket's breaker.
type Breaker struct {
	Bucket      string     `json:"bucket"`
	Consecutive int        `json:"consecutive"` // bad ends in a row
	TrippedAt   *time.Time `json:"tripped_at"`  // nil: closed
	Accepted    int        `json:"accepted"`
	Stopped     int        `json:"stopped"`
}

// breakers are the breakers of a corpus. Each row of their file is the state of
// one bucket, the last one counts; rows go through the journal with the verdicts
// that they follow from.
type breakers struct {
	spec *dag.Breaker // nil: there is none
	path string

	mu    sync.RWMutex
	state map[string]Breaker
	read  int64
}

func newBreakers(dir string, spec *dag.Breaker) *breakers {
	return &breakers{spec: spec, path: filepath.Join(dir, breakersPath), state: map[string]Breaker{}}
}

// refresh reads the rows that were appended, up to a size; -1 is the last whole line.
func (b *breakers) refresh(upTo int64) error {
	if b.spec == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if upTo == b.read {
		return nil
	}
	f, err := os.Open(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if upTo < 0 {
		upTo = info.Size()
	}
	if upTo < b.read || info.Size() < upTo {
		return &errEdited{breakersPath, "it is shorter than it was"}
	}
	rows := make([]byte, upTo-b.read)
	if err := readFull(f, rows, b.read); err != nil {
		return err
	}
	rows = rows[:bytes.LastIndexByte(rows, '\n')+1]
	for line := range bytes.Lines(rows) {
		var row breakerRow
		if json.Unmarshal(line, &row) == nil && row.Bucket != "" {
			b.state[row.Bucket] = row.breaker()
		}
	}
	b.read += int64(len(rows))
	return nil
}

// takePending takes in rows that are committed and not in the file yet, for those
// who only look: a reset that was interrupted behind its commit has closed the
// breaker, whoever writes it.
func (b *breakers) takePending(d osDisk) error {
	if b.spec == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return eachPending(d, func(r record) {
		for _, w := range r.writes {
			if w.path != breakersPath || w.off < b.read {
				continue // it is read
			}
			for line := range bytes.Lines(w.data) {
				var row breakerRow
				if json.Unmarshal(line, &row) == nil && row.Bucket != "" {
					b.state[row.Bucket] = row.breaker()
				}
			}
		}
	})
}

func (r *breakerRow) breaker() Breaker {
	out := Breaker{Bucket: r.Bucket, Consecutive: r.Consecutive, Accepted: r.Accepted, Stopped: r.Stopped}
	if at, err := time.Parse(time.RFC3339, r.TrippedAt); err == nil {
		out.TrippedAt = &at
	}
	return out
}

func (b *breakers) get(bucket string) Breaker {
	b.mu.RLock()
	defer b.mu.RUnlock()
	state := b.state[bucket]
	state.Bucket = bucket
	return state
}

// wrote takes in the states that were committed, and how far the file goes now.
func (b *breakers) wrote(states map[string]Breaker, end int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(b.state, states)
	b.read = end
}

// after is the state of a breaker after an end that was recorded for the first
// time. An open breaker stays open whatever follows: only a reset closes it.
func (s Breaker) after(end dag.End, spec *dag.Breaker, now time.Time) (next Breaker, changed bool) {
	switch {
	case end == dag.Accepted:
		s.Accepted++
		s.Consecutive = 0
	case slices.Contains(spec.Counts, end):
		s.Stopped++
		s.Consecutive++
		if s.Consecutive >= spec.Consecutive && s.TrippedAt == nil {
			at := now.UTC().Truncate(time.Millisecond)
			s.TrippedAt = &at
		}
	default:
		return s, false
	}
	return s, true
}

func (s Breaker) row(now time.Time) breakerRow {
	row := breakerRow{Accepted: s.Accepted, At: timestamp(now), Bucket: s.Bucket, Consecutive: s.Consecutive, Stopped: s.Stopped}
	if s.TrippedAt != nil {
		row.TrippedAt = timestamp(*s.TrippedAt)
	}
	return row
}

// Tripped reports whether a bucket's breaker is open: nothing new is to be
// started there.
func (g *Gate) Tripped(bucket string) bool { return g.breaker.get(bucket).TrippedAt != nil }

// Breakers lists the state of every bucket that has one, by name.
func (g *Gate) Breakers() []Breaker {
	g.breaker.mu.RLock()
	defer g.breaker.mu.RUnlock()
	return slices.SortedFunc(maps.Values(g.breaker.state), func(a, b Breaker) int { return strings.Compare(a.Bucket, b.Bucket) })
}

// ResetBreaker closes a bucket's breaker and starts its count over; where it is
// closed and at the start, nothing is written.
func (g *Gate) ResetBreaker(ctx context.Context, bucket string) error {
	if g.spec.Breaker == nil {
		return &dag.Error{Op: "reset the breaker", Subject: bucket, Kind: dag.KindConfig, Err: errors.New("the gate declares no breaker")}
	}
	if !g.writes() {
		return &dag.Error{Op: "reset the breaker", Subject: bucket, Kind: dag.KindConfig, Err: errors.New("the gate is not open for writing")}
	}
	g.writing.Lock()
	defer g.writing.Unlock()
	if g.closed {
		return corpusError(errClosed)
	}
	return corpusError(g.locked(ctx, nil, func(b *batch) error {
		state := g.breaker.get(bucket)
		if state.TrippedAt == nil && state.Consecutive == 0 {
			return nil
		}
		state.Consecutive, state.TrippedAt = 0, nil
		row := state.row(g.o.Now())
		row.Reset = true
		b.breakers[bucket] = state
		return b.append(breakersPath, row)
	}))
}
