package completion

import (
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/penstock-run/penstock/dag"
)

// recorder adds answers and pages to a cassette: each at once as a line at its end, so
// that a crash loses nothing that was paid for, and all in order when it is
// closed.
type recorder struct {
	tape   *tape
	mended bool // a torn line was cut off

	mu       sync.Mutex
	cassette *Cassette // what was there, and what was added
	added    *Cassette // by this recorder
	unwrote  bool      // a line could not be written
}

func newRecorder(path string) (*recorder, error) {
	t, err := openTape(path)
	if err != nil {
		return nil, cassetteError("record completions", path, err)
	}
	r := &recorder{tape: t, added: NewCassette(path)}
	var damage error
	err = t.held(func() (err error) {
		if r.cassette, damage = ReadCassette(path); damage != nil {
			return nil
		}
		r.mended, err = t.mend()
		return err
	})
	switch {
	case err != nil:
		return nil, errors.Join(cassetteError("record completions", path, err), t.close())
	case damage != nil:
		return nil, errors.Join(damage, t.close())
	}
	return r, nil
}

// writeError is of a cassette that takes no line: not of what the line says.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

func (r *recorder) add(e Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	key, err := e.Request.Key()
	if err != nil {
		return err
	}
	e.Key = key
	line, err := e.Line() // first: what cannot be a line must not stand in the way of all others at the end
	if err != nil {
		return err
	}
	old, had := r.cassette.Lookup(key)
	if err := r.cassette.Add(e); err != nil {
		return err
	}
	now, _ := r.cassette.Lookup(key)
	if had && now == old {
		return nil
	}
	r.added.entries[key] = now
	return r.write(line)
}

func (r *recorder) addPage(p RecordedPage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	line, err := p.Line()
	if err != nil {
		return err
	}
	if !r.cassette.AddPage(p) {
		return nil
	}
	r.added.pages[p.Page.URL] = r.cassette.pages[p.Page.URL]
	return r.write(line)
}

func (r *recorder) write(line []byte) error {
	if err := r.tape.held(func() error { return r.tape.append(line) }); err != nil {
		r.unwrote = true
		return &writeError{err}
	}
	return nil
}

// close puts the file in order. What another process appended meanwhile stays. Where
// the disk is full, the lines stay as they came, and only those that could not be
// written are missing.
func (r *recorder) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.tape.held(func() error {
		onDisk, err := ReadCassette(r.tape.path)
		if err != nil {
			return err
		}
		maps.Copy(onDisk.entries, r.added.entries)
		maps.Copy(onDisk.pages, r.added.pages)
		return onDisk.Write()
	})
	if err = errors.Join(err, r.tape.close()); err == nil {
		return nil
	}
	var e *dag.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	failed := cassetteError("write cassette", r.tape.path, err).(*dag.Error)
	if r.unwrote {
		failed.Hint = "make room, and run again with the same flags: the answers are kept in staging/, and are recorded from there"
	}
	return failed
}

// record adds an answer to the cassette that is being recorded. Answers from
// the cache are recorded too: what is recorded must replay the whole run.
func (s *Service) record(p *dag.Provider, request *Request, reply *Reply) {
	if s.recorder == nil {
		return
	}
	texts := append([]string{request.System, reply.text(), reply.Refusal, reply.Model}, reply.Notes...)
	for i := range request.Messages {
		texts = append(texts, request.Messages[i].content())
	}
	err := errors.New("it holds a secret of the provider")
	if !leaks(p, texts...) {
		err = s.recorder.add(Entry{Request: *request, Reply: *reply, RecordedAt: s.clock.now().UTC().Truncate(time.Second)})
	}
	if s.unwritten(err) {
		return
	}
	if err != nil {
		s.options.Log("warn", "a completion of provider "+p.Name+" was not recorded: "+err.Error())
	}
}

// unwritten tells whether an error is that of a cassette which takes no line, and says
// so once: it is tried again when the run ends, whose error tells the rest.
func (s *Service) unwritten(err error) bool {
	var failed *writeError
	if !errors.As(err, &failed) {
		return false
	}
	var first bool
	s.count(func(*Counters) { first = s.tell("unwritten") })
	if first {
		s.options.Log("warn", "the cassette "+s.options.Record+" cannot be written to: "+failed.Error()+"; what is missing is written when the run ends, if it can be then")
	}
	return true
}
