package engine

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/staging"
)

// Spend is what the run's visits cost. What attempts in vain cost besides stands
// in the run's own counts.
type Spend struct {
	Rows  []SpendRow `json:"rows"`  // in the order of the stages
	Total SpendRow   `json:"total"` // of all rows
	// KnownUSD is the part of Total that is known: all of it where Total.USD is
	// not nil.
	KnownUSD float64 `json:"known_usd"`
}

// SpendRow sums visits of one stage that were answered alike.
type SpendRow struct {
	Stage    string `json:"stage,omitempty"`
	Provider string `json:"provider,omitempty"` // its name in the pipeline
	Model    string `json:"model,omitempty"`
	// AnsweredBy says who answered the completions of the visits; empty where they
	// asked for none.
	AnsweredBy Answerer `json:"answered_by,omitempty"`
	Visits     int      `json:"visits"`
	Calls      int      `json:"calls"`
	Input      int      `json:"input_tokens"`
	Cached     int      `json:"cached_input_tokens"` // of Input
	Output     int      `json:"output_tokens"`
	USD        *float64 `json:"usd"` // nil: unknown, for want of a price
}

// Answerer is who answered a completion.
type Answerer string

// Answerers; only a provider is paid.
const (
	ByProvider Answerer = "provider"
	ByCassette Answerer = "cassette"
	ByStaging  Answerer = "staging" // each completion had been paid for before
)

// Timeline tells when the visits of the run were executed.
type Timeline struct {
	From   time.Time   `json:"from"`
	To     time.Time   `json:"to"`
	Step   float64     `json:"step_seconds"` // of AtOnce
	Stages []StageTime `json:"stages"`
}

// StageTime is a stage's part of a timeline.
type StageTime struct {
	Stage   string    `json:"stage"`
	Visits  int       `json:"visits"`
	First   time.Time `json:"first"`           // start
	Last    time.Time `json:"last"`            // end
	Busy    float64   `json:"busy_seconds"`    // of all visits together
	Longest float64   `json:"longest_seconds"` // of one visit
	AtOnce  []float64 `json:"at_once"`         // visits in progress, on average, in each step
}

// timelineSteps is into how many parts a timeline is cut.
const timelineSteps = 60

// workCounts counts the visits that a run executed: from their actions, and from
// trails where no action was kept, as of a visit that crashed its plugin.
type workCounts struct {
	run     staging.Run
	outline *outline
	known   map[dag.Digest]bool // actions → whether a trail has it
	rows    map[SpendRow]*SpendRow
	spans   map[string][]span // by stage
	visits  int
}

type span struct{ from, to time.Time }

func newWorkCounts(run staging.Run, o *outline) *workCounts {
	return &workCounts{run: run, outline: o, known: map[dag.Digest]bool{}, rows: map[SpendRow]*SpendRow{}, spans: map[string][]span{}}
}

func (w *workCounts) action(a *staging.Action) {
	if a.Recipe.IsZero() {
		return // a completion that was kept by itself: its visit has it, too
	}
	if a.Sample == 0 && !w.known[a.Digest] {
		w.known[a.Digest] = false
	}
	w.visit(a.Stage, &a.Facts)
}

// item looks for visits of the run that no action is kept of.
func (w *workCounts) item(m *Member) {
	if m.Trail == nil {
		return
	}
	for i := range m.Trail.Visits {
		v := &m.Trail.Visits[i]
		if v.Action.IsZero() || v.Facts.Reused {
			continue
		}
		if _, ok := w.known[v.Action]; !ok {
			w.visit(v.Stage, &v.Facts)
		}
		w.known[v.Action] = true
	}
}

// loose counts actions that are on no trail of the run.
func (w *workCounts) loose() (n int) {
	for _, placed := range w.known {
		if !placed {
			n++
		}
	}
	return n
}

func (w *workCounts) visit(stage string, f *dag.Facts) {
	w.visits++
	if !f.StartedAt.IsZero() && !f.EndedAt.Before(f.StartedAt) {
		w.spans[stage] = append(w.spans[stage], span{f.StartedAt, f.EndedAt})
	}
	key := SpendRow{Stage: stage, Model: f.Model}
	var price *dag.Price
	if s := w.outline.stage(stage); s != nil {
		key.Provider, price = s.Provider, s.Price
	}
	switch {
	case f.Paid.Attempts > 0:
		key.AnsweredBy = ByProvider
	case f.Calls == 0:
	case f.Recorded:
		key.AnsweredBy = ByCassette
	case f.Unpaid:
		key.AnsweredBy = ByStaging
	default:
		key.AnsweredBy = ByProvider
	}
	row := w.rows[key]
	if row == nil {
		row = &SpendRow{}
		*row = key
		row.USD = new(float64)
		w.rows[key] = row
	}
	row.Visits++
	calls, tokens, paid := f.Calls, answered(f), (*float64)(nil)
	switch {
	case f.Paid.Attempts > 0:
		calls, tokens, paid = f.Paid.Attempts, f.Paid.Tokens, f.Paid.Cost()
	case key.AnsweredBy != ByProvider:
		paid = new(float64)
	case price != nil:
		usd := paidFor(f, price)
		paid = &usd
	}
	row.Calls += calls
	row.Input += tokens.Input
	row.Cached += tokens.Cached
	row.Output += tokens.Output
	row.USD = sumOf(row.USD, paid)
}

func (w *workCounts) spend() Spend {
	s := Spend{Rows: []SpendRow{}, Total: SpendRow{USD: new(float64)}}
	for _, row := range w.rows {
		s.Rows = append(s.Rows, *row)
	}
	slices.SortFunc(s.Rows, func(a, b SpendRow) int {
		return cmp.Or(w.place(a.Stage)-w.place(b.Stage), strings.Compare(a.Stage, b.Stage), strings.Compare(string(a.AnsweredBy), string(b.AnsweredBy)), strings.Compare(a.Model, b.Model))
	})
	t := &s.Total
	for _, row := range s.Rows {
		t.Visits += row.Visits
		t.Calls += row.Calls
		t.Input += row.Input
		t.Cached += row.Cached
		t.Output += row.Output
		switch {
		case row.USD == nil:
			t.USD = nil
		case t.USD != nil:
			*t.USD += *row.USD
		}
		if row.USD != nil {
			s.KnownUSD += *row.USD
		}
	}
	return s
}

// place is where a stage stands in the pipeline; behind all others where it is
// not on record.
func (w *workCounts) place(stage string) int {
	i := slices.IndexFunc(w.outline.Stages, func(s outlineStage) bool { return s.Name == stage })
	if i < 0 {
		return len(w.outline.Stages)
	}
	return i
}

func (w *workCounts) timeline() *Timeline {
	t := &Timeline{From: w.run.Started, To: w.run.Ended}
	for stage, spans := range w.spans {
		s := StageTime{Stage: stage, Visits: len(spans), First: spans[0].from}
		for _, v := range spans {
			if v.from.Before(s.First) {
				s.First = v.from
			}
			if v.to.After(s.Last) {
				s.Last = v.to
			}
			took := v.to.Sub(v.from).Seconds()
			s.Busy += took
			s.Longest = max(s.Longest, took)
		}
		if s.Last.After(t.To) {
			t.To = s.Last
		}
		if s.First.Before(t.From) {
			t.From = s.First
		}
		s.Busy, s.Longest = round(s.Busy), round(s.Longest)
		t.Stages = append(t.Stages, s)
	}
	if len(t.Stages) == 0 {
		return nil
	}
	slices.SortFunc(t.Stages, func(a, b StageTime) int {
		return cmp.Or(w.place(a.Stage)-w.place(b.Stage), strings.Compare(a.Stage, b.Stage))
	})
	t.Step = max(t.To.Sub(t.From).Seconds()/timelineSteps, 1e-6)
	for i := range t.Stages {
		t.Stages[i].AtOnce = t.atOnce(w.spans[t.Stages[i].Stage])
	}
	return t
}

// atOnce spreads visits over the steps in which they were in progress.
func (t *Timeline) atOnce(spans []span) []float64 {
	busy := make([]float64, timelineSteps)
	for _, v := range spans {
		from, to := v.from.Sub(t.From).Seconds()/t.Step, v.to.Sub(t.From).Seconds()/t.Step
		for i := max(0, int(from)); i < timelineSteps && float64(i) < to; i++ {
			busy[i] += min(to, float64(i+1)) - max(from, float64(i))
		}
	}
	for i := range busy {
		busy[i] = round(busy[i])
	}
	return busy
}

// round keeps what a person reads of a figure.
func round(f float64) float64 { return math.Round(f*1e4) / 1e4 }
