package main

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// work is a corpus of synthetic questions, and questions to ask about it. A
// question is the sorted numbers of its distinct words.
type work struct {
	vocabulary []string
	zipf       float64
	records    [][]uint32
	queries    [][]uint32
	total      int // words of all records
}

// planted is one in so many questions that is another with a word or two changed.
const planted = 50

// plantedQueries is the same of the questions that are asked: enough to count what
// a method finds.
const plantedQueries = 5

// makeWork makes questions of 8 to 20 distinct words.
func makeWork(records, queries, vocabulary int, zipf float64, seed uint64) *work {
	w := &work{zipf: zipf, vocabulary: make([]string, vocabulary)}
	for i := range w.vocabulary {
		w.vocabulary[i] = "w" + strconv.FormatInt(int64(i), 36)
	}
	rng := rand.New(rand.NewPCG(seed, uint64(vocabulary)))
	words := rand.NewZipf(rng, zipf, 1, uint64(vocabulary-1))
	for i := range records {
		set := w.question(rng, words, i, planted)
		w.records = append(w.records, set)
		w.total += len(set)
	}
	for i := range queries {
		w.queries = append(w.queries, w.question(rng, words, i, plantedQueries))
	}
	return w
}

func (w *work) question(rng *rand.Rand, words *rand.Zipf, i, planted int) []uint32 {
	var set []uint32
	add := func() {
		for {
			if word := uint32(words.Uint64()); !slices.Contains(set, word) {
				set = append(set, word)
				return
			}
		}
	}
	if i%planted == planted-1 && len(w.records) > 0 {
		set = slices.Clone(w.records[rng.IntN(len(w.records))])
		for range 1 + rng.IntN(2) {
			switch rng.IntN(3) {
			case 0:
				add()
			case 1:
				set = slices.Delete(set, 0, 1)
			default:
				set = slices.Delete(set, len(set)-1, len(set))
				add()
			}
		}
	} else {
		for n := 8 + rng.IntN(13); len(set) < n; {
			add()
		}
	}
	slices.Sort(set)
	return set
}

// scope is the same for all: a second one would only make each search smaller.
func (w *work) scope(int) string { return "" }

func (w *work) words(out []string, set []uint32) []string {
	for _, word := range set {
		out = append(out, w.vocabulary[word])
	}
	return out
}

// nearest compares a query with all records.
func (w *work) nearest(i int) answer {
	best := answer{ref: -1, union: 1}
	for n, set := range w.records {
		best = w.better(best, w.queries[i], set, n)
	}
	if best.ref < 0 {
		return answer{ref: -1}
	}
	return best
}

// better is the better one of an answer and a record, the earlier where they are
// as similar.
func (w *work) better(best answer, query, set []uint32, n int) answer {
	inter := common(query, set)
	union := len(query) + len(set) - inter
	if den*inter < num*union || best.ref >= 0 && (inter*best.union < best.inter*union || inter*best.union == best.inter*union && best.ref < n) {
		return best
	}
	return answer{n, inter, union}
}

func common(a, b []uint32) int {
	n, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			n++
			i++
			j++
		}
	}
	return n
}
