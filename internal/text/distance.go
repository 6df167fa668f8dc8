package text

import (
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Levenshtein is the number of runes to insert, delete or substitute to make one
// text of the other. It does not normalise: see Choice.
//
// Its cost grows with the length of the texts times their distance, so two long
// texts that have nothing in common are dear: see Closer.
func Levenshtein(a, b string) int {
	la, lb := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	if max(la, lb) <= short {
		return levenshtein.ComputeDistance(distinguishable(a), distinguishable(b))
	}
	return widening([]rune(distinguishable(a)), []rune(distinguishable(b)), max(la, lb)+1)
}

// short is up to how many runes the whole matrix is cheaper than bands of it.
const short = 256

// Closer reports whether the distance of a and b is below limit, and then gives it.
// For long texts it costs only as much as the limit asks for: the distance of two
// texts of 10,000 runes takes a tenth of a second, and a document may hold many.
func Closer(a, b string, limit int) (distance int, closer bool) {
	if limit <= 0 {
		return 0, false
	}
	if a == b {
		return 0, true
	}
	la, lb := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	if la-lb >= limit || lb-la >= limit {
		return 0, false
	}
	if max(la, lb) <= short {
		distance = Levenshtein(a, b)
	} else {
		distance = widening([]rune(distinguishable(a)), []rune(distinguishable(b)), min(limit, max(la, lb)+1))
	}
	if distance >= limit {
		return 0, false
	}
	return distance, true
}

// widening is banded with a band that is doubled until the distance lies in it: texts
// that are close cost little, however wide the limit is.
func widening(a, b []rune, limit int) int {
	for band := 8; band < limit; band *= 2 {
		if d := banded(a, b, band); d < band {
			return d
		}
	}
	return banded(a, b, limit)
}

// banded is the distance where it is below limit, else limit. It fills only the
// diagonal band of the matrix in which such a distance can lie.
func banded(a, b []rune, limit int) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = min(j, limit)
	}
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-limit), min(len(b), i+limit)
		diagonal := row[from-1]
		if from == 1 {
			row[0] = min(i, limit)
		} else {
			row[from-1] = limit
		}
		best := row[from-1]
		for j := from; j <= to; j++ {
			above := row[j]
			if j == i+limit {
				above = limit // outside the band of the row before
			}
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = min(diagonal, above, row[j-1]) + 1
			}
			diagonal = row[j]
			row[j] = min(cost, limit)
			best = min(best, row[j])
		}
		if best >= limit {
			return limit
		}
	}
	return row[len(b)]
}

// distinguishable gives each byte that is not UTF-8 a rune of its own: decoded as
// replacement characters, two different texts would be at distance 0.
func distinguishable(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	out := make([]rune, 0, len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			r = 0x10FF00 + rune(s[i])
		}
		out = append(out, r)
		i += size
	}
	return string(out)
}
