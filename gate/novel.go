package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/similar"
	"github.com/penstock-run/penstock/internal/text"
)

// What the checks "novel" compare with. The text of each accepted record stands in
// its row of the evidence, so that the indexes are made from the evidence alone;
// where a row is older than the check, it is taken from the record.

// subject is what is compared: a text, within a part of the corpus.
type subject struct {
	of     string // identifies text and within, in rows of the evidence
	text   dag.Expr
	within dag.Expr // nil: the whole corpus is one part
}

func subjectOf(c *dag.Check) subject {
	s := subject{text: c.Args["text"], within: c.Args["within"]}
	d := newDigester("novel")
	d.expr(s.text)
	d.expr(s.within)
	s.of = d.sum().String()[:16]
	return s
}

// ratioOf reads a threshold from its decimal text. A float would not do: 17 of 20
// words are 0.85 in integers, and whether they are in floats is a matter of luck.
func ratioOf(decimal string) (num, den uint64, err error) {
	whole, fraction, _ := strings.Cut(decimal, ".")
	const places = 9
	digits := whole + fraction
	if len(whole) != 1 || len(fraction) > places || strings.Trim(digits, "0123456789") != "" {
		return 0, 0, fmt.Errorf("write a number above 0 and at most 1 with at most %d decimals, such as 0.85", places)
	}
	den = 1
	for range fraction {
		den *= 10
	}
	for _, c := range digits {
		num = num*10 + uint64(c-'0')
	}
	if num == 0 || num > den {
		return 0, 0, errors.New("write a number above 0 and at most 1, such as 0.85")
	}
	a, b := num, den
	for b > 0 {
		a, b = b, a%b
	}
	return num / a, den / a, nil
}

// shelf is the index of one subject for one threshold.
type shelf struct {
	subject
	num, den uint64
	index    *similar.Index
	// Where a record has the text, for rows that are older than the check; recorded
	// is false where corpus.record does not say.
	textAt, withinAt []string
	recorded         bool
}

// shelvesOf makes an empty shelf for each subject and threshold of a gate.
func shelvesOf(g *dag.Gate) []*shelf {
	var out []*shelf
	for _, c := range g.Checks {
		if c.Kind != "novel" || c.Args["text"] == nil {
			continue
		}
		made, err := newNovelCheck(c)
		if err != nil {
			continue // said when the checks are made
		}
		check := made.(*novelCheck)
		if findShelf(out, check) < 0 {
			out = append(out, newShelf(check, g.Corpus))
		}
	}
	return out
}

func newShelf(c *novelCheck, corpus *dag.Corpus) *shelf {
	s := &shelf{subject: c.subject, num: c.num, den: c.den}
	s.clear()
	record := dag.ShapeOf(corpus.Record)
	s.textAt, s.recorded = placeIn(record, dag.ShapeOf(s.text))
	if s.within != nil && s.recorded {
		s.withinAt, s.recorded = placeIn(record, dag.ShapeOf(s.within))
	}
	return s
}

// clear forgets all texts.
func (s *shelf) clear() {
	s.index, _ = similar.New(s.num, s.den) // a check has no threshold that it refuses
}

func findShelf(shelves []*shelf, c *novelCheck) int {
	return slices.IndexFunc(shelves, func(s *shelf) bool { return s.of == c.of && s.num == c.num && s.den == c.den })
}

// placeIn finds where a record of that shape has what a path reads.
func placeIn(record, path dag.Shape) (at []string, ok bool) {
	if path.Name == (dag.Name{}) {
		return nil, false
	}
	if record.Name == path.Name && len(record.Steps) <= len(path.Steps) && slices.Equal(record.Steps, path.Steps[:len(record.Steps)]) {
		return path.Steps[len(record.Steps):], true
	}
	for _, m := range record.Members {
		if at, ok := placeIn(m.Shape, path); ok {
			return append([]string{m.Name}, at...), true
		}
	}
	return nil, false
}

// novelText is an element of the member "novel" of a row of the evidence: the text
// of one subject. Text is null where a check does not apply and there is none.
type novelText struct {
	Of     string  `json:"of"`
	Text   *string `json:"text"`
	Within string  `json:"within,omitempty"`
}

// makeNovel makes the member "novel" of the record's evidence, nil where no check
// asks for it. What a check that does not apply would have compared is kept as
// well: others are compared with this record.
func (j *judgement) makeNovel() ([]byte, error) {
	var texts []novelText
	for _, done := range j.states {
		check, ok := done.check.run.(*novelCheck)
		if !ok || slices.ContainsFunc(texts, func(t novelText) bool { return t.Of == check.of }) {
			continue
		}
		w := done.result.words
		if w == nil {
			r, err := check.judge(j.scope)
			if err != nil && !isContent(err) {
				return nil, err
			}
			w = r.words
		}
		t := novelText{Of: check.of}
		if w != nil {
			t.Text, t.Within = &w.text, w.within
		}
		texts = append(texts, t)
	}
	if texts == nil {
		return nil, nil
	}
	return appendNovel(nil, texts), nil
}

// appendNovel writes the texts in canonical form; they were read from JSON.
func appendNovel(b []byte, texts []novelText) []byte {
	for i, t := range texts {
		b = append(b, "[,"[min(i, 1)])
		b = canon.Quote(append(b, `{"of":`...), t.Of)
		if t.Text == nil {
			b = append(b, `,"text":null`...)
		} else {
			b = canon.Quote(append(b, `,"text":`...), *t.Text)
		}
		if t.Within != "" {
			b = canon.Quote(append(b, `,"within":`...), t.Within)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// shelve adds the texts of a row of the evidence to the shelves, and gives those
// shelves that the row has no text for: it is older than their check.
func shelve(shelves []*shelf, raw []byte, ref uint64) (older []*shelf, err error) {
	var texts []novelText
	if raw != nil && json.Unmarshal(raw, &texts) != nil {
		texts = nil // not as the gate writes it; the record tells
	}
	for _, s := range shelves {
		i := slices.IndexFunc(texts, func(t novelText) bool { return t.Of == s.of })
		switch {
		case i < 0:
			older = append(older, s)
		case texts[i].Text == nil:
		default:
			if err := s.index.Add(texts[i].Within, text.Tokens(*texts[i].Text), ref); err != nil {
				return nil, err
			}
		}
	}
	return older, nil
}

// twin is a record that is near; an empty id is none.
type twin struct {
	id           string
	inter, union int
}

// nearer reports whether the twin is more similar than another.
func (t twin) nearer(than twin) bool {
	return t.id != "" && (than.id == "" || t.inter*than.union > than.inter*t.union)
}

// nearest finds the record that is most similar to a text, in the corpus or in
// this batch; of two that are as similar, the one in the corpus.
func (b *batch) nearest(c *novelCheck, w *words) (twin, error) {
	at := findShelf(b.g.ledger.shelves, c)
	if at < 0 || w == nil {
		return twin{}, errors.New("the check has no index")
	}
	near, err := b.g.ledger.nearest(at, w)
	if err != nil || b.shelves == nil {
		return near, err
	}
	ref, inter, union, found := b.shelves[at].index.Nearest(w.within, w.set)
	if !found {
		return near, nil
	}
	if here := (twin{b.shelved[ref], inter, union}); here.nearer(near) {
		return here, nil
	}
	return near, nil
}

// shelve lets what comes later in this batch see the texts of a record.
func (b *batch) shelve(id string, raw []byte) error {
	if len(b.g.ledger.shelves) == 0 {
		return nil
	}
	if b.shelves == nil {
		for _, s := range b.g.ledger.shelves {
			own := *s
			own.clear()
			b.shelves = append(b.shelves, &own)
		}
	}
	b.shelved = append(b.shelved, id)
	older, err := shelve(b.shelves, raw, uint64(len(b.shelved)-1))
	if err == nil && older != nil {
		return fmt.Errorf("the record %s waits in the journal without the text that the check \"novel\" compares; run once without --dry, then it stands in its file", id)
	}
	return err
}

// nearest finds the accepted record that is most similar to a text.
func (l *ledger) nearest(shelf int, w *words) (twin, error) {
	l.mu.RLock()
	ref, inter, union, found := l.shelves[shelf].index.Nearest(w.within, w.set)
	f := l.logs[evidenceLog].f
	l.mu.RUnlock()
	if !found {
		return twin{}, nil
	}
	line, err := readLine(f, place(ref).offset())
	var row evidenceRow
	if err == nil {
		err = json.Unmarshal(line, &row)
	}
	if err != nil || row.ID == "" {
		return twin{}, fmt.Errorf("read back a row of %s: %w", l.logs[evidenceLog].path, errors.Join(err, errNoRow))
	}
	return twin{row.ID, inter, union}, nil
}

var errNoRow = errors.New("it is no row of the evidence")
