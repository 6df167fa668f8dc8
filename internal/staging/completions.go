package staging

import (
	"slices"

	"github.com/penstock-run/penstock/dag"
)

// origins of completions, by the number that stands for them.
var origins = []string{"", "live", "cache", "cassette"}

// putCompletions ends a record. One without any is written as it was before there
// were completions in it, and one of that time reads as one without any.
func putCompletions(b []byte, all []dag.Completion) []byte {
	if len(all) == 0 {
		return b
	}
	b = putUint(b, uint64(len(all)))
	for i := range all {
		c := &all[i]
		flags := byte(max(0, slices.Index(origins, c.Origin)))
		parts := [...]dag.Digest{c.Request, c.Answer, c.Raw, c.Schema}
		for n, d := range parts {
			if !d.IsZero() {
				flags |= 1 << (n + 4)
			}
		}
		b = append(b, flags)
		for _, d := range parts {
			if !d.IsZero() {
				b = append(b, d[:]...)
			}
		}
	}
	return b
}

func (r *reader) completions() []dag.Completion {
	if len(r.b) == 0 {
		return nil
	}
	n := r.count()
	if n == 0 {
		return nil
	}
	all := make([]dag.Completion, 0, n)
	for range n {
		var c dag.Completion
		flags := r.byte()
		c.Origin = origins[min(int(flags&15), len(origins)-1)]
		for i, d := range [...]*dag.Digest{&c.Request, &c.Answer, &c.Raw, &c.Schema} {
			if flags&(1<<(i+4)) != 0 {
				*d = r.digest()
			}
		}
		all = append(all, c)
	}
	return all
}
