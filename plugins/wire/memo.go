package wire

import "sync"

// mostKnown bounds a Memo: a pipeline has few schemas, but a plugin may make up one
// for each item.
const mostKnown = 64

// Memo remembers what was made of a schema, since most requests have one that was
// seen before. It is used by several goroutines at once.
type Memo[T any] struct {
	mu sync.Mutex
	of map[string]T
}

// Of is what make makes of a schema.
func (m *Memo[T]) Of(schema []byte, make func([]byte) (T, error)) (T, error) {
	m.mu.Lock()
	known, ok := m.of[string(schema)]
	m.mu.Unlock()
	if ok {
		return known, nil
	}
	made, err := make(schema)
	if err != nil {
		return made, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[string]T{}
	}
	if len(m.of) < mostKnown {
		m.of[string(schema)] = made
	}
	return made, nil
}
