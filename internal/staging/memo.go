package staging

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
)

// Memo remembers between runs what is dear to find out and can be found out
// again: digests of files, and what plugins say of themselves. A key names all
// that the answer depends on, so a wrong answer is never given; a lost one costs
// a moment.
type Memo struct {
	path    string
	mu      sync.Mutex
	entries map[string]jsontext.Value
	changed bool
}

// memoMost bounds the file: past it, it begins anew.
const memoMost = 10000

// OpenMemo reads the memo of a staging folder. What cannot be read is empty.
func OpenMemo(dir string) *Memo {
	m := &Memo{path: filepath.Join(dir, "memo.json"), entries: map[string]jsontext.Value{}}
	b, err := os.ReadFile(m.path)
	if err == nil && json.Unmarshal(b, &m.entries) != nil {
		m.entries = map[string]jsontext.Value{}
	}
	return m
}

// Get gives a digest that was remembered.
func (m *Memo) Get(key string) (dag.Digest, bool) {
	var d dag.Digest
	ok := m.Value(key, &d)
	return d, ok
}

// Put remembers a digest.
func (m *Memo) Put(key string, d dag.Digest) { m.SetValue(key, d) }

// Value decodes what was remembered into v, and reports whether it could.
func (m *Memo) Value(key string, v any) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	raw, ok := m.entries[key]
	return ok && json.Unmarshal(raw, v) == nil
}

// SetValue remembers v as JSON.
func (m *Memo) SetValue(key string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		return // what is no JSON is not remembered
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.entries) >= memoMost {
		m.entries = map[string]jsontext.Value{}
	}
	m.entries[key], m.changed = raw, true
}

// Save writes the memo, if it has changed, in one rename. Two processes that
// save at once lose one's additions, which are found out again.
func (m *Memo) Save() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.changed {
		return nil
	}
	b, err := json.Marshal(m.entries, json.Deterministic(true))
	if err != nil {
		return storeError("write memo", m.path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(m.path), "memo-*.tmp")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no store was made, so there is nothing to remember for
	}
	if err != nil {
		return storeError("write memo", m.path, err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), m.path)
	}
	if err != nil {
		return storeError("write memo", m.path, errors.Join(err, os.Remove(f.Name())))
	}
	m.changed = false
	return nil
}
