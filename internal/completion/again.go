package completion

import (
	"slices"
	"strconv"

	"github.com/penstock-run/penstock/dag"
)

// another gives the keys of a request that the visit may have made before. Who asks
// the same twice wants another answer: so the second time is another request, and so
// it is when the visit is made once more, whose first request is again the first.
func another(keys []dag.Digest, earlier []dag.Completion) []dag.Digest {
	asked := func(keys []dag.Digest) bool {
		return slices.ContainsFunc(earlier, func(c dag.Completion) bool {
			return slices.ContainsFunc(c.Keys, func(k dag.Digest) bool { return slices.Contains(keys, k) })
		})
	}
	now := keys
	for n := 2; asked(now); n++ {
		now = make([]dag.Digest, len(keys))
		for i, key := range keys {
			now[i] = dag.Sum(append([]byte("completion again/1\n"+strconv.Itoa(n)+"\n"), key[:]...))
		}
	}
	return now
}
