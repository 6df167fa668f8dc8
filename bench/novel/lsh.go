package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// MinHash with banding, 14 bands of 8 hashes as datatrove has it, on the words of a
// question, each candidate verified word by word. A band is a sorted list of 8
// bytes a record, the least that it can do with: a table of hashes, which could be
// added to, takes two to ten times that.

const (
	bands = 14
	rows  = 8
)

// lshFigures is what is measured of it.
type lshFigures struct {
	Bands            int     `json:"bands"`
	Rows             int     `json:"rows"`
	BuildSeconds     float64 `json:"build_s"`
	BytesPerRecord   float64 `json:"index_bytes_per_record"`
	P50Micros        float64 `json:"p50_us"`
	P99Micros        float64 `json:"p99_us"`
	Found            int     `json:"found"` // of the queries that have a near-duplicate
	Recall           float64 `json:"recall"`
	AtThreshold      int     `json:"at_threshold"` // of those, the ones whose similarity is 0.85 itself
	FoundAtThreshold int     `json:"found_at_threshold"`
}

type lsh struct {
	mul, add [bands * rows]uint64
	bands    [bands][]bucket // sorted
}

type bucket struct{ hash, record uint32 }

func newLSH(w *work) *lsh {
	l := &lsh{}
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range l.mul {
		l.mul[i], l.add[i] = rng.Uint64()|1, rng.Uint64()
	}
	for b := range l.bands {
		l.bands[b] = make([]bucket, len(w.records))
	}
	for n, set := range w.records {
		for b, hash := range l.hashes(set) {
			l.bands[b][n] = bucket{hash, uint32(n)}
		}
	}
	for b := range l.bands {
		slices.SortFunc(l.bands[b], func(x, y bucket) int {
			if x.hash != y.hash {
				return int(int64(x.hash) - int64(y.hash))
			}
			return int(int64(x.record) - int64(y.record))
		})
	}
	return l
}

// hashes gives the hash of each band.
func (l *lsh) hashes(set []uint32) (out [bands]uint32) {
	var least [bands * rows]uint64
	for i := range least {
		least[i] = 1<<64 - 1
	}
	for _, word := range set {
		mixed := (uint64(word) + 1) * 0x9E3779B97F4A7C15
		mixed ^= mixed >> 32
		for i := range least {
			least[i] = min(least[i], mixed*l.mul[i]+l.add[i])
		}
	}
	for b := range out {
		hash := uint64(14695981039346656037)
		for _, h := range least[b*rows : (b+1)*rows] {
			hash = (hash ^ h>>16) * 1099511628211
		}
		out[b] = uint32(hash >> 32)
	}
	return out
}

func (l *lsh) nearest(w *work, query []uint32, seen map[uint32]bool) answer {
	best := answer{ref: -1, union: 1}
	clear(seen)
	for b, hash := range l.hashes(query) {
		band := l.bands[b]
		at, _ := slices.BinarySearchFunc(band, hash, func(x bucket, hash uint32) int { return int(int64(x.hash) - int64(hash)) })
		for ; at < len(band) && band[at].hash == hash; at++ {
			if n := band[at].record; !seen[n] {
				seen[n] = true
				best = w.better(best, query, w.records[n], int(n))
			}
		}
	}
	return best
}

func measureLSH(w *work, exact []answer) lshFigures {
	f := lshFigures{Bands: bands, Rows: rows}
	before := heap()
	begun := time.Now()
	l := newLSH(w)
	f.BuildSeconds = time.Since(begun).Seconds()
	f.BytesPerRecord = float64(heap()-before) / float64(len(w.records))
	times := make([]float64, len(w.queries))
	seen := map[uint32]bool{}
	matches := 0
	for i, q := range w.queries {
		begun := time.Now()
		got := l.nearest(w, q, seen)
		times[i] = micros(begun)
		if exact[i].ref < 0 {
			continue
		}
		matches++
		at := exact[i].inter*den == exact[i].union*num
		if at {
			f.AtThreshold++
		}
		if got.ref >= 0 {
			f.Found++
			if at {
				f.FoundAtThreshold++
			}
		}
	}
	f.Recall = float64(f.Found) / float64(max(1, matches))
	f.P50Micros, f.P99Micros = quantile(times, 0.5), quantile(times, 0.99)
	return f
}
