package text

import (
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Levenshtein is the number of runes to insert, delete or substitute to make one
// text of the other. It does not normalise: see Choice.
func Levenshtein(a, b string) int {
	return levenshtein.ComputeDistance(distinguishable(a), distinguishable(b))
}

// Closer reports whether the distance of a and b is below limit. For long texts
// it costs only as much as the limit asks for: the distance of two texts of
// 10,000 runes takes a tenth of a second, and a document may hold many.
func Closer(a, b string, limit int) bool {
	if limit <= 0 {
		return false
	}
	if a == b {
		return true
	}
	la, lb := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	if la-lb >= limit || lb-la >= limit {
		return false
	}
	if max(la, lb) <= 256 {
		return Levenshtein(a, b) < limit
	}
	return banded([]rune(distinguishable(a)), []rune(distinguishable(b)), limit)
}

// banded fills only the diagonal band of the matrix in which a distance below
// limit can lie.
func banded(a, b []rune, limit int) bool {
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
			return false
		}
	}
	return row[len(b)] < limit
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
