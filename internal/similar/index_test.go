package similar

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// answer is what Nearest says.
type answer struct {
	Ref          uint64
	Inter, Union int
	Found        bool
}

func nearest(x *Index, scope, words string) answer {
	ref, inter, union, found := x.Nearest(scope, strings.Fields(words))
	return answer{ref, inter, union, found}
}

func mustNew(t testing.TB, num, den uint64) *Index {
	t.Helper()
	x, err := New(num, den)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func mustAdd(t testing.TB, x *Index, scope, words string, ref uint64) {
	t.Helper()
	if err := x.Add(scope, strings.Fields(words), ref); err != nil {
		t.Fatal(err)
	}
}

// count writes n words, from w1 on.
func count(from, to int) string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf("w%d", i))
	}
	return strings.Join(out, " ")
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct {
		name     string
		num, den uint64
		sets     []string
		query    string
		want     answer
	}{
		{"nothing", 17, 20, nil, "a b", answer{}},
		{"the same in another order", 17, 20, []string{"a b c"}, "c a b", answer{1, 3, 3, true}},
		{"a word twice counts once", 17, 20, []string{"a a b"}, "b b a", answer{1, 2, 2, true}},
		{"17 of 20 at 0.85", 17, 20, []string{count(1, 17)}, count(1, 20), answer{1, 17, 20, true}},
		{"20 words of which 17 are there", 17, 20, []string{count(1, 20)}, count(1, 17), answer{1, 17, 20, true}},
		{"17 of 21 at 0.85", 17, 20, []string{count(1, 17)}, count(1, 21), answer{}},
		{"34 of 40 at 0.85, words of their own on both sides", 17, 20, []string{count(1, 37)}, count(4, 40), answer{1, 34, 40, true}},
		{"33 of 40 at 0.85", 17, 20, []string{count(1, 37)}, count(5, 40), answer{}},
		{"4 of 5 at 0.8", 4, 5, []string{count(1, 4)}, count(1, 5), answer{1, 4, 5, true}},
		{"9 of 10 at 0.9", 9, 10, []string{count(1, 10)}, count(1, 9), answer{1, 9, 10, true}},
		{"a word less at 1", 1, 1, []string{count(1, 10)}, count(1, 9), answer{}},
		{"all at 1", 1, 1, []string{count(1, 10)}, count(1, 10), answer{1, 10, 10, true}},
		{"the most similar", 1, 2, []string{"a b c x", "a b c d", "a b c"}, "a b c d", answer{2, 4, 4, true}},
		{"the earlier of two", 1, 2, []string{"a b x", "a b y"}, "a b", answer{1, 2, 3, true}},
		{"no words", 1, 2, []string{"", "a"}, "", answer{}},
		{"words that nobody has", 1, 2, []string{"a b"}, "x y", answer{}},
		{"half of the words unknown", 1, 2, []string{"a b"}, "a b x y", answer{1, 2, 4, true}},
		{"a hair below the half", 1, 2, []string{"a b"}, "a b x y z", answer{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, least := range []int{1, 1024} {
				x := mustNew(t, tt.num, tt.den)
				x.least = least
				for i, set := range tt.sets {
					mustAdd(t, x, "", set, uint64(i+1))
				}
				if diff := cmp.Diff(tt.want, nearest(x, "", tt.query)); diff != "" {
					t.Errorf("merged from %d on: (-want +got)\n%s", least, diff)
				}
			}
		})
	}
}

func TestScopes(t *testing.T) {
	x := mustNew(t, 17, 20)
	mustAdd(t, x, "history", "who took the town", 1)
	mustAdd(t, x, "music", "who took the town", 2)
	mustAdd(t, x, "", "who took the town", 3)
	for scope, want := range map[string]answer{
		"history": {1, 4, 4, true}, "music": {2, 4, 4, true}, "": {3, 4, 4, true}, "art": {}, "Music": {},
	} {
		if diff := cmp.Diff(want, nearest(x, scope, "who took the town")); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", scope, diff)
		}
	}
}

func TestThresholdsRefused(t *testing.T) {
	for _, bad := range [][2]uint64{{0, 1}, {2, 1}, {0, 0}, {1, MaxDenominator + 1}, {1 << 63, 1 << 63}} {
		if x, err := New(bad[0], bad[1]); err == nil {
			t.Errorf("%v: %v", bad, x)
		}
	}
}

// model is an index that compares with everything.
type model struct {
	num, den int
	sets     []modelSet
}

type modelSet struct {
	scope string
	words []string
	ref   uint64
}

func distinct(words []string) []string {
	out := slices.Clone(words)
	slices.Sort(out)
	return slices.Compact(out)
}

func (m *model) nearest(scope string, words []string) answer {
	var best answer
	words = distinct(words)
	for _, set := range m.sets {
		if set.scope != scope {
			continue
		}
		inter := 0
		for _, w := range set.words {
			if slices.Contains(words, w) {
				inter++
			}
		}
		union := len(words) + len(set.words) - inter
		if union == 0 || m.den*inter < m.num*union {
			continue
		}
		if !best.Found || inter*best.Union > best.Inter*union {
			best = answer{set.ref, inter, union, true}
		}
	}
	return best
}

var thresholds = [][2]int{{17, 20}, {4, 5}, {9, 10}, {1, 1}, {1, 2}, {1, 10}, {2, 3}, {849, 1000}, {85, 100}}

// TestAsByComparingWithAll: whatever is added and asked in whatever order, before
// and after words were put in a new order, and out of a snapshot.
func TestAsByComparingWithAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threshold := rapid.SampledFrom(thresholds).Draw(t, "threshold")
		x, err := New(uint64(threshold[0]), uint64(threshold[1]))
		if err != nil {
			t.Fatal(err)
		}
		x.least = rapid.SampledFrom([]int{1, 2, 7, 1000}).Draw(t, "least")
		m := &model{num: threshold[0], den: threshold[1]}
		vocabulary := rapid.SampledFrom([]int{3, 12, 40, 400}).Draw(t, "vocabulary")
		longest := rapid.SampledFrom([]int{4, 12, 45}).Draw(t, "longest")
		word := rapid.Custom(func(t *rapid.T) string {
			// The square makes some words much more common than others.
			n := rapid.IntRange(0, vocabulary-1).Draw(t, "n")
			return fmt.Sprint(n * n / vocabulary)
		})
		words := rapid.SliceOfN(word, 0, longest)
		scopes := rapid.SampledFrom([]string{"", "history", "music"})
		for step := range rapid.IntRange(1, 120).Draw(t, "steps") {
			set, scope := words.Draw(t, "words"), scopes.Draw(t, "scope")
			if len(m.sets) > 0 && rapid.Bool().Draw(t, "near") {
				// A set that is there, with a few words changed.
				set = slices.Clone(rapid.SampledFrom(m.sets).Draw(t, "of").words)
				for range rapid.IntRange(0, 3).Draw(t, "changes") {
					if i := rapid.IntRange(0, len(set)).Draw(t, "at"); i < len(set) {
						set[i] = word.Draw(t, "word")
					} else {
						set = append(set, word.Draw(t, "word"))
					}
				}
			}
			want := m.nearest(scope, set)
			got := nearest(x, scope, strings.Join(set, " "))
			if want != got {
				t.Fatalf("step %d, %v in %q: %+v, want %+v", step, set, scope, got, want)
			}
			scanned := scanOnly(x, scope, set)
			if want != scanned {
				t.Fatalf("step %d, %v in %q, by going through all: %+v, want %+v", step, set, scope, scanned, want)
			}
			if rapid.IntRange(0, 3).Draw(t, "add") > 0 {
				if err := x.Add(scope, set, uint64(step)); err != nil {
					t.Fatal(err)
				}
				if len(set) > 0 {
					m.sets = append(m.sets, modelSet{scope, distinct(set), uint64(step)})
				}
			}
			if rapid.IntRange(0, 20).Draw(t, "snapshot") == 0 {
				x = throughSnapshot(t, x)
			}
		}
	})
}

// scanOnly is Nearest for a query whose postings are too long.
func scanOnly(x *Index, scope string, words []string) answer {
	number, ok := x.scopes[scope]
	if !ok {
		return answer{}
	}
	q := query{x: x, scope: number, num: x.num, den: x.den}
	q.take(words)
	q.scan()
	if !q.found || q.n == 0 {
		return answer{}
	}
	return answer{x.refs[q.best], int(q.inter), int(q.union), true}
}

func throughSnapshot(t interface{ Fatal(...any) }, x *Index) *Index {
	var b bytes.Buffer
	n, err := x.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatal(n, b.Len(), err)
	}
	b.WriteString("what follows")
	y, rest, err := Read(b.Bytes())
	if err != nil || string(rest) != "what follows" {
		t.Fatal(string(rest), err)
	}
	y.least = x.least
	return y
}

// TestLongPostings: a query of common words only is answered as if all were compared.
func TestLongPostings(t *testing.T) {
	x := mustNew(t, 1, 2)
	m := &model{num: 1, den: 2}
	for i := range 3000 {
		words := []string{"the", "of", "in", fmt.Sprint("x", i%7), fmt.Sprint("y", i)}
		if err := x.Add("", words, uint64(i)); err != nil {
			t.Fatal(err)
		}
		m.sets = append(m.sets, modelSet{"", distinct(words), uint64(i)})
	}
	q := query{x: x, num: x.num, den: x.den}
	q.take([]string{"the", "of", "in"})
	if q.walk() {
		t.Fatal("the postings are not long enough for this test")
	}
	for _, words := range [][]string{{"the", "of", "in"}, {"the", "of", "in", "x3"}, {"the", "of"}, {"in"}} {
		if diff := cmp.Diff(m.nearest("", words), nearest(x, "", strings.Join(words, " "))); diff != "" {
			t.Errorf("%v: (-want +got)\n%s", words, diff)
		}
	}
}

// TestHugeSets: sets of more words than 16 bits count.
func TestHugeSets(t *testing.T) {
	x := mustNew(t, 99, 100)
	huge := strings.Fields(count(1, 70_000))
	if err := x.Add("", huge, 1); err != nil {
		t.Fatal(err)
	}
	if err := x.Add("", huge[:66_000], 2); err != nil {
		t.Fatal(err)
	}
	for _, least := range []int{1000, 0} {
		x.least = least
		if least == 0 {
			mustAdd(t, x, "", "a", 3) // merges
		}
		for _, tt := range []struct {
			from, to int
			want     answer
		}{
			{0, 70_000, answer{1, 70_000, 70_000, true}}, {100, 69_800, answer{1, 69_700, 70_000, true}}, {0, 69_299, answer{}}, {0, 65_800, answer{2, 65_800, 66_000, true}},
		} {
			ref, inter, union, found := x.Nearest("", huge[tt.from:tt.to])
			if diff := cmp.Diff(tt.want, answer{ref, inter, union, found}); diff != "" {
				t.Errorf("%d to %d: (-want +got)\n%s", tt.from, tt.to, diff)
			}
		}
	}
}
