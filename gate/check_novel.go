package gate

import (
	"fmt"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/text"
)

// novelCheck holds when no accepted record of the same `within` has nearly the same
// text: as sets of words, words in common to words altogether, below
// max_similarity. Before the locks it only makes the words.
type novelCheck struct {
	subject
	num, den uint64
}

func newNovelCheck(c *dag.Check) (checker, error) {
	doc, err := c.Args["max_similarity"].Doc(constants{})
	if err != nil {
		return nil, fmt.Errorf("max_similarity: %w", err)
	}
	num, den, err := ratioOf(string(doc.Bytes))
	if err != nil {
		return nil, fmt.Errorf("max_similarity is %s; %w", doc.Bytes, err)
	}
	return &novelCheck{subjectOf(c), num, den}, nil
}

// words is a text to be compared, on its way to the locks.
type words struct {
	text, within string
	set          []string
}

func (c *novelCheck) judge(s *scope) (result, error) {
	w := &words{}
	var err error
	if w.text, err = decode[string](s, c.text, "text"); err != nil {
		return result{}, err
	}
	if c.within != nil {
		if w.within, err = decode[string](s, c.within, "within"); err != nil {
			return result{}, err
		}
	}
	w.set = text.Tokens(w.text)
	r := passed(nil)
	r.words = w
	return r, nil
}

// locked compares with what is on disk now, and with what goes into the corpus in
// the same batch. A text without words is similar to nothing.
func (c *novelCheck) locked(prepared result, b *batch) (result, error) {
	near, err := b.nearest(c, prepared.words)
	if err != nil || near.id == "" {
		return prepared, err
	}
	r := refused("text", "%d of %d words are those of the accepted record %s", near.inter, near.union, near.id)
	similarity := float64(near.inter) / float64(near.union)
	r.figure = &similarity
	r.found = map[string]any{"twin": near.id, "shared": near.inter, "words": near.union}
	return r, nil
}
