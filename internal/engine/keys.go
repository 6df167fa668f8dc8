package engine

import (
	"cmp"
	"strings"
)

// CompareKeys orders keys as people do, a number within one by its size: the line
// 2 of a file comes before the line 10.
func CompareKeys(a, b string) int {
	for a != "" && b != "" {
		m, n := leadingDigits(a), leadingDigits(b)
		if m == 0 || n == 0 {
			if c := cmp.Compare(a[0], b[0]); c != 0 {
				return c
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y), cmp.Compare(m, n)); c != 0 {
			return c
		}
		a, b = a[m:], b[n:]
	}
	return cmp.Compare(len(a), len(b))
}

func leadingDigits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
