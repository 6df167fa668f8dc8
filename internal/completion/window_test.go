package completion

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// steady lets calls succeed one after the other, all with the window in use.
func steady(w *window, sent *uint64, calls int, took time.Duration) {
	for range calls {
		*sent++
		w.succeeded(*sent, *sent, took, true)
	}
}

func TestWindowGrows(t *testing.T) {
	w, sent := newWindow(64, false), uint64(0)
	sizes := []int{w.size}
	for range 4 {
		steady(&w, &sent, w.size, time.Second) // one round
		sizes = append(sizes, w.size)
	}
	if diff := cmp.Diff([]int{4, 8, 16, 32, 64}, sizes); diff != "" {
		t.Errorf("start (-want +got):\n%s", diff)
	}
	w.lower(sent, sent, false)
	if w.size != 48 || w.ceiling != 64 {
		t.Errorf("after a refusal it is %d, below %d", w.size, w.ceiling)
	}
	steady(&w, &sent, 48, time.Second)
	if w.size != 49 {
		t.Errorf("a round later it is %d, want 49", w.size)
	}

	w, sent = newWindow(64, false), 1
	w.lower(1, 1, false) // refused with 4 under way: 3 now
	steady(&w, &sent, 3, time.Second)
	if w.size != 4 {
		t.Errorf("it is %d, want to be back at 4", w.size)
	}
	steady(&w, &sent, 39, time.Second)
	if w.size != 4 {
		t.Errorf("it is %d before ten rounds were well, want 4", w.size)
	}
	steady(&w, &sent, 1, time.Second)
	if w.size != 5 {
		t.Errorf("it is %d after ten rounds, want 5", w.size)
	}
}

func TestWindowOutOfUseStays(t *testing.T) {
	w := newWindow(64, false)
	for n := range uint64(1000) {
		w.succeeded(n+1, n+1, time.Second, false)
	}
	if w.size != 4 {
		t.Errorf("it is %d, want 4", w.size)
	}
}

// A server that lets calls queue refuses none, but answers ever more slowly.
func TestWindowHearsLatency(t *testing.T) {
	tests := []struct {
		name string
		deaf bool
		took func(size int) time.Duration // of calls, so many at a time
		low  int                          // what the window stays between, after 5000 calls
		high int
	}{
		{"one after the other", false, func(size int) time.Duration { return time.Duration(size) * time.Second }, 4, 24},
		{"one after the other, and it does not matter", true, func(size int) time.Duration { return time.Duration(size) * time.Second }, 64, 64},
		{"all at once", false, func(int) time.Duration { return 20 * time.Second }, 64, 64},
		{"fast, whatever the factor", false, func(size int) time.Duration { return time.Duration(size) * time.Millisecond }, 64, 64},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w, sent := newWindow(64, test.deaf), uint64(0)
			for range 5000 {
				steady(&w, &sent, 1, test.took(w.size))
			}
			if w.size < test.low || w.size > test.high {
				t.Errorf("the window is %d, want %d to %d", w.size, test.low, test.high)
			}
		})
	}
}

// Answers that are longer from now on are no queue: the decrease does not help,
// and is taken back.
func TestWindowLearnsWhatIsNormal(t *testing.T) {
	w, sent := newWindow(64, false), uint64(0)
	steady(&w, &sent, 500, time.Second)
	least := w.size
	for range 3000 {
		steady(&w, &sent, 1, 20*time.Second)
		least = min(least, w.size)
	}
	if least != 48 || w.size != 64 || w.latency.normal != 20*time.Second {
		t.Errorf("it was %d at least and is %d, with a normal of %s; want 48, 64, 20s", least, w.size, w.latency.normal)
	}
}

func TestWindowProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.IntRange(1, 80).Draw(t, "bound")
		w := newWindow(bound, rapid.Bool().Draw(t, "deaf"))
		var sent uint64
		var flying []uint64
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			if len(flying) < w.size && rapid.Bool().Draw(t, "send") {
				sent++
				flying = append(flying, sent)
				continue
			}
			if len(flying) == 0 {
				continue
			}
			i := rapid.IntRange(0, len(flying)-1).Draw(t, "which")
			number := flying[i]
			flying = append(flying[:i], flying[i+1:]...)
			before, shrunk := w.size, w.shrunk
			if rapid.Bool().Draw(t, "succeeds") {
				w.succeeded(number, sent, time.Duration(rapid.IntRange(1, 60000).Draw(t, "ms"))*time.Millisecond, true)
			} else {
				w.lower(number, sent, rapid.Bool().Draw(t, "probe"))
				if number <= shrunk && w.size != before {
					t.Fatalf("a call of an earlier burst made it %d of %d", w.size, before)
				}
				if w.size > before || w.size < before*3/4 {
					t.Fatalf("one refusal made it %d of %d", w.size, before)
				}
			}
			if w.size < 1 || w.size > bound {
				t.Fatalf("it is %d, of 1 to %d", w.size, bound)
			}
		}
		steady(&w, &sent, beyondCeiling*bound*bound+64, time.Second)
		if w.size != bound {
			t.Fatalf("it is %d after so many successes, want %d", w.size, bound)
		}
	})
}
