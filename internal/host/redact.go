package host

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/penstock-run/penstock/dag"
)

// secrets are the sensitive values that processes were told. What a process says
// of itself, in a log, a refusal or its last words, may repeat them.
type secrets struct {
	mu    sync.Mutex
	known []string          // the longest first: one may be part of another
	blot  *strings.Replacer // nil: none is known
}

// tell notes values before a process hears them. What processes print is read by
// the line, so that of a value of several lines each is one.
func (s *secrets) tell(values map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.known)
	for _, value := range dag.SecretForms(values) {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); line != "" && !slices.Contains(s.known, line) {
				s.known = append(s.known, line)
			}
		}
	}
	if len(s.known) == before {
		return
	}
	slices.SortFunc(s.known, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	var pairs []string
	for _, value := range s.known {
		pairs = append(pairs, value, "(sensitive)")
	}
	s.blot = strings.NewReplacer(pairs...)
}

// redact takes them out of a text that people, or files, will see.
func (s *secrets) redact(text string) string {
	s.mu.Lock()
	blot := s.blot
	s.mu.Unlock()
	if blot == nil {
		return text
	}
	return blot.Replace(text)
}
