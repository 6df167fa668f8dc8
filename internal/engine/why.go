package engine

import (
	"bufio"
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/staging"
)

// ItemWhy is an item's way in order, each step with its cause: what `penstock
// why ITEM` prints.
type ItemWhy struct {
	Item   string       `json:"item"`
	Parent string       `json:"parent,omitempty"`
	Run    string       `json:"run"` // that wrote the trail; later ones had nothing to add
	End    dag.End      `json:"end"`
	Status string       `json:"status,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Codes  []CodeWhy    `json:"codes,omitempty"`
	Dry    bool         `json:"dry,omitzero"`  // a dry run judged it: the end is what would be, and nothing was committed
	Kept   bool         `json:"kept,omitzero"` // its record is in the corpus: an earlier run accepted it
	Way    []Step       `json:"way"`
	Gate   *GateWhy     `json:"gate,omitempty"` // nil: the item did not come to its checks
	Record *RecordWhy   `json:"record,omitempty"`
	Spawn  []string     `json:"children,omitempty"`
	Failed *dag.Failure `json:"failed,omitempty"`
}

// CodeWhy is a code with what it stands for.
type CodeWhy struct {
	Code    dag.Code `json:"code"`
	Meaning string   `json:"meaning,omitempty"` // empty: the pipeline of that run is not on record
}

// Step is a visit, or the decision where to go after it.
type Step struct {
	Visit *VisitFacts `json:"visit,omitempty"`
	Route *RouteWhy   `json:"route,omitempty"`
	// Completions of Visit, in the order in which they came; nil: it has none, or
	// nothing is known of them any more.
	Completions []Answered `json:"completions,omitempty"`
}

// VisitFacts are what is known of a visit without comparing it.
type VisitFacts struct {
	Stage    string        `json:"stage"`
	Pass     int           `json:"pass"`
	State    VisitState    `json:"state"`
	Outcome  string        `json:"outcome,omitempty"`
	Failure  *dag.Failure  `json:"failure,omitempty"`
	Rule     string        `json:"rule,omitempty"`
	Seen     []dag.Seen    `json:"seen,omitempty"`
	Findings []dag.Finding `json:"findings,omitempty"`
	Action   dag.Digest    `json:"action,omitzero"`
	Input    dag.Digest    `json:"input,omitzero"`
	Output   dag.Digest    `json:"output,omitzero"`
	Model    string        `json:"model,omitempty"`
	// When it was executed, for whichever run; zero for one that nothing was
	// executed for.
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Calls     int       `json:"calls,omitzero"`
	Tokens    int       `json:"tokens,omitzero"`
	// USD is what its completions cost by the prices of that run; nil: unknown,
	// or nobody was asked.
	USD *float64 `json:"usd,omitempty"`
	// Of USD and Tokens:
	Price     string `json:"price,omitempty"`    // what the price was taken from; absent: none is known
	Attempts  int    `json:"attempts,omitzero"`  // calls of the provider, those in vain among them; 0: none, or not told
	Estimated int    `json:"estimated,omitzero"` // attempts that count with the most that they may have cost; 0: none, or not told
	Unpriced  int    `json:"unpriced,omitzero"`  // attempts whose price is not known; 0: none, or not told
}

// VisitState tells how a visit came by its result.
type VisitState string

// States of a visit.
const (
	VisitRun        VisitState = "run"        // it was made in the run that wrote the trail
	VisitReused     VisitState = "reused"     // answered from staging
	VisitReplayed   VisitState = "replayed"   // made, and a cassette answered its completions
	VisitDecided    VisitState = "decided"    // by the rules of the stage: nothing was executed
	VisitRefused    VisitState = "refused"    // it failed before anything was executed
	VisitUnfinished VisitState = "unfinished" // of a log: it stands on no trail, for it failed, was interrupted, or was made anew since
)

// RouteWhy is a route's decision with all that had to be so for it.
type RouteWhy struct {
	Route    string        `json:"route"`
	From     string        `json:"from"`
	To       string        `json:"to"`
	At       string        `json:"at,omitempty"`
	Under    []Condition   `json:"under,omitempty"` // nil: nothing had to be so, or it is not on record
	Seen     []dag.Seen    `json:"seen,omitempty"`
	Findings []dag.Finding `json:"findings,omitempty"`
}

// GateWhy is the gate's word.
type GateWhy struct {
	As     dag.Triage `json:"as,omitempty"` // of an arm that had it recorded without checks
	Checks []CheckWhy `json:"checks,omitempty"`
	// From is the run that ran the checks, where the verdict was on record before.
	From string `json:"from,omitempty"`
	// Findings of stages and routes are as good as the checks'.
	Findings []dag.Finding `json:"findings,omitempty"`
}

// CheckWhy is what a check came to, with what its code stands for.
type CheckWhy struct {
	gate.CheckResult `json:",inline"`
	Meaning          string `json:"meaning,omitempty"`
	At               string `json:"at,omitempty"`
}

// RecordWhy names a record of the corpus and its evidence.
type RecordWhy struct {
	ID       string         `json:"id"`
	Evidence string         `json:"evidence,omitempty"` // file
	Line     int            `json:"line,omitzero"`      // of Evidence; 0: it has no row of the record
	Row      jsontext.Value `json:"row,omitempty"`
	// Of Row:
	Data       string `json:"data,omitempty"` // the file that the record is in
	AcceptedAt string `json:"accepted_at,omitempty"`
}

// past is what a store knows of one item: all trails of its family.
type past struct {
	store    *staging.Store
	dir      string
	key      string
	trails   []*staging.Trail
	families [][]Member
	runs     map[string]staging.Run
	outlines map[string]*outline
	actions  map[dag.Digest]*staging.Action // of all visits on the trails
}

// recall gathers what is known of an item; an unknown one is an error that names
// the nearest.
func recall(store *staging.Store, dir, key string) (*past, error) {
	p := &past{store: store, dir: dir, key: key, runs: map[string]staging.Run{}, outlines: map[string]*outline{}}
	trails, err := store.History(key)
	if err != nil {
		return nil, err
	}
	for _, t := range trails {
		members, err := DecodeFamily(t.Body)
		if err != nil {
			return nil, &dag.Error{Op: "read trail of", Subject: t.ItemKey, Kind: dag.KindInfrastructure, Err: err}
		}
		if memberOfFamily(members, key) == nil {
			continue // an earlier fan-out made other items
		}
		p.trails, p.families = append(p.trails, t), append(p.families, members)
	}
	if len(p.trails) == 0 {
		return nil, unknownItem(store, key)
	}
	runs, err := store.Runs()
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		p.runs[r.ID] = r
	}
	return p, nil
}

func unknownItem(store *staging.Store, key string) error {
	known := map[string]bool{}
	err := store.Bodies(func(body []byte) {
		for _, key := range familyKeys(body) {
			known[key] = true
		}
	})
	if err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(known))
	return &Unknown{Name: key, Known: keys, text: "no run has taken in an item that is called that", hint: "penstock status"}
}

// Unknown is an item that no run took in, or a stage that its pipeline has not.
type Unknown struct {
	Name       string   // that was asked for
	Known      []string // those that there are
	text, hint string
}

func (u *Unknown) Error() string { return u.text }

// Told is the error for people; meant, if not empty, says which name was meant.
func (u *Unknown) Told(op, subject, meant string) error {
	text := u.text
	if meant != "" {
		text += ". " + meant
	}
	return &dag.Error{Op: op, Subject: subject, Kind: dag.KindConfig, Err: errors.New(text), Hint: u.hint}
}

func memberOfFamily(members []Member, key string) *Member {
	if i := slices.IndexFunc(members, func(m Member) bool { return m.Key == key }); i >= 0 {
		return &members[i]
	}
	return nil
}

func (p *past) last() int { return len(p.trails) - 1 }

// member is the item as the n-th trail has it.
func (p *past) member(n int) *Member { return memberOfFamily(p.families[n], p.key) }

// outline is what the pipeline said in the run that wrote the n-th trail.
func (p *past) outline(n int) *outline {
	run := p.trails[n].Run
	o := p.outlines[run]
	if o == nil {
		o = readOutline(p.store, p.runs[run].Outline)
		p.outlines[run] = o
	}
	return o
}

// WhyItem tells an item's way. dir is the pipeline's directory: the evidence of
// an accepted record is read there.
func WhyItem(store *staging.Store, dir, key string) (*ItemWhy, error) {
	p, err := recall(store, dir, key)
	if err != nil {
		return nil, err
	}
	n := p.last()
	m := p.member(n)
	w := p.itemWhy(m, p.trails[n].Run, p.outline(n))
	if err := w.answer(store, m.Trail); err != nil {
		return nil, err
	}
	if w.Record != nil {
		if err := w.Record.find(dir); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// itemWhy tells an item's way as a run with this outline left it.
func (p *past) itemWhy(m *Member, run string, o *outline) *ItemWhy {
	w := &ItemWhy{Item: m.Key, Run: run, End: m.End, Status: m.Status, Reason: m.Reason, Dry: m.Dry, Kept: m.Kept, Way: []Step{}}
	for _, code := range m.Codes {
		w.Codes = append(w.Codes, CodeWhy{code, o.meaning(code)})
	}
	if m.Trail == nil {
		return w
	}
	w.Parent, w.Failed = m.Trail.Parent, m.Trail.Failed
	w.Way = p.way(m.Trail, o)
	for _, c := range m.Trail.Children {
		w.Spawn = append(w.Spawn, c.Key)
	}
	w.Gate = p.gate(m, o)
	if m.Record != "" && !m.Dry {
		w.Record = &RecordWhy{ID: m.Record, Evidence: o.Evidence}
	}
	return w
}

// way puts visits and decisions in order: a decision stands behind the visit
// that it follows.
func (p *past) way(t *dag.Trail, o *outline) []Step {
	way := []Step{}
	decided := func(after int) {
		for i := range t.Decisions {
			if d := &t.Decisions[i]; d.After == after {
				way = append(way, Step{Route: routeWhy(d, o)})
			}
		}
	}
	decided(-1)
	for i := range t.Visits {
		way = append(way, Step{Visit: visitFacts(&t.Visits[i], o)})
		decided(i)
	}
	return way
}

func routeWhy(d *dag.Decision, o *outline) *RouteWhy {
	r := &RouteWhy{Route: d.Route, From: d.Stage, To: d.To, At: d.Pos.String(), Seen: d.Seen, Findings: d.Findings}
	if a := o.arm(d); a != nil {
		r.Under = a.Under
	}
	return r
}

func visitFacts(v *dag.Visit, o *outline) *VisitFacts {
	f := &VisitFacts{
		Stage: v.Stage, Pass: v.Pass, State: stateOf(v), Outcome: v.Outcome, Failure: v.Failure, Rule: v.Rule, Seen: v.Seen,
		Findings: v.Findings, Action: v.Action, Input: v.Input, Output: v.Output,
		Model: v.Facts.Model, StartedAt: v.Facts.StartedAt, EndedAt: v.Facts.EndedAt,
		Calls: v.Facts.Calls, Tokens: v.Facts.Input + v.Facts.OutTokens,
	}
	if v.Facts.Paid.Attempts > 0 {
		paid := &v.Facts.Paid
		f.Tokens, f.USD = paid.Sum(), paid.Cost()
		f.Price, f.Attempts, f.Estimated, f.Unpriced = paid.Price, paid.Attempts, paid.Estimated, paid.Unpriced
	} else if s := o.stage(v.Stage); s != nil && s.Price != nil && v.Facts.Calls > 0 && !v.Facts.Recorded && !v.Facts.Unpaid {
		usd := paidFor(&v.Facts, s.Price)
		f.USD, f.Price = &usd, s.Price.From
	}
	return f
}

// paidFor is what a visit's completions cost, in US dollars, where an older version
// has made it: its attempts in vain are not known.
func paidFor(f *dag.Facts, p *dag.Price) float64 { return p.Of(answered(f)) }

// answered is the tokens of a visit's answers.
func answered(f *dag.Facts) dag.Tokens {
	return dag.Tokens{Input: f.Input, Cached: f.Cached, Output: f.OutTokens}
}

func stateOf(v *dag.Visit) VisitState {
	switch {
	case v.Action.IsZero() && v.Failure != nil && v.Rule == "":
		return VisitRefused
	case v.Action.IsZero():
		return VisitDecided
	case v.Facts.Reused:
		return VisitReused
	case v.Facts.Recorded:
		return VisitReplayed
	}
	return VisitRun
}

// gate is the gate's word on an item; nil where it came to no check and left no
// finding. Where the verdict was on record, the trail that has its checks is
// looked for.
func (p *past) gate(m *Member, o *outline) *GateWhy {
	g := &GateWhy{As: m.Trail.As, Findings: m.Trail.Findings}
	checks := m.Checks
	for n := p.last() - 1; n >= 0 && len(checks) == 0 && m.Trail.As == "" && cameToGate(m.Trail); n-- {
		if old := p.member(n); old.End == m.End && old.Record == m.Record && slices.Equal(old.Codes, m.Codes) && len(old.Checks) > 0 {
			checks, g.From, o = old.Checks, p.trails[n].Run, p.outline(n)
		}
	}
	for _, c := range checks {
		w := CheckWhy{CheckResult: c}
		for _, spec := range o.Checks {
			if spec.Name == c.Name {
				w.Kind, w.Code, w.At, w.Meaning = spec.Kind, spec.Code, spec.At, o.meaning(spec.Code)
			}
		}
		g.Checks = append(g.Checks, w)
	}
	if g.As == "" && len(g.Checks) == 0 && len(g.Findings) == 0 {
		return nil
	}
	return g
}

func cameToGate(t *dag.Trail) bool {
	n := len(t.Decisions)
	return n == 0 || strings.HasPrefix(t.Decisions[n-1].To, "gate.")
}

// find looks the evidence of a record up, in the file as it is now.
func (r *RecordWhy) find(dir string) error {
	if r.Evidence == "" {
		return nil
	}
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(r.Evidence)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &dag.Error{Op: "read evidence", Subject: r.Evidence, Kind: dag.KindInfrastructure, Err: err}
	}
	defer func() { _ = f.Close() }()
	id, err := jsontext.AppendQuote([]byte(`"id":`), r.ID)
	if err != nil {
		return nil // an id that is no text stands in no row
	}
	lines := bufio.NewReaderSize(f, 1<<20)
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if bytes.Contains(line, id) {
			r.take(n, bytes.TrimSuffix(line, []byte("\n")))
		}
		if err != nil {
			return nil // the last line; a part of it that was read is no row yet
		}
	}
}

// take notes a line of the evidence, if it is the record's own row: another's
// may hold the same text further in.
func (r *RecordWhy) take(n int, line []byte) {
	var row struct {
		ID         string `json:"id"`
		Data       string `json:"data"`
		AcceptedAt string `json:"accepted_at"`
	}
	if json.Unmarshal(line, &row) == nil && row.ID == r.ID {
		r.Line, r.Row, r.Data, r.AcceptedAt = n, bytes.Clone(line), row.Data, row.AcceptedAt
	}
}

// readLine reads to the next line feed, however far that is.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := bytes.Clone(line)
	rest, err := r.ReadBytes('\n')
	return append(long, rest...), err
}
