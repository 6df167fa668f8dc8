package host

import (
	"strings"
	"sync"
)

// secrets are the sensitive values that processes were told. What a process says
// of itself, in a log, a refusal or its last words, may repeat them.
type secrets struct {
	mu    sync.Mutex
	known []string
}

// tell notes values before a process hears them.
func (s *secrets) tell(values map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range values {
		if value != "" {
			s.known = append(s.known, value)
		}
	}
}

// redact takes them out of a text that people, or files, will see.
func (s *secrets) redact(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range s.known {
		text = strings.ReplaceAll(text, value, "(sensitive)")
	}
	return text
}
