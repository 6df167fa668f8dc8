package completion

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/penstock-run/penstock/dag"
)

// recorder adds answers and pages to a cassette: each at once as a line at its end, so
// that a crash loses nothing that was paid for, and all in order when it is
// closed.
type recorder struct {
	path string

	mu       sync.Mutex
	file     *os.File
	cassette *Cassette
}

func newRecorder(path string) (*recorder, error) {
	cassette, err := ReadCassette(path)
	if errors.Is(err, fs.ErrNotExist) {
		cassette, err = NewCassette(path), nil
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, cassetteError("record completions", path, err)
	}
	r := &recorder{path: path, file: f, cassette: cassette}
	if err := r.endLastLine(); err != nil {
		return nil, errors.Join(cassetteError("record completions", path, err), f.Close())
	}
	return r, nil
}

// endLastLine makes sure that what is appended begins a line.
func (r *recorder) endLastLine() error {
	content, err := os.ReadFile(r.path)
	if err != nil || len(content) == 0 || content[len(content)-1] == '\n' {
		return err
	}
	_, err = r.file.WriteString("\n")
	return err
}

func (r *recorder) add(e Entry) error {
	key, err := e.Request.Key()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old, had := r.cassette.Lookup(key)
	if err := r.cassette.Add(e); err != nil {
		return err
	}
	now, _ := r.cassette.Lookup(key)
	if had && now == old {
		return nil
	}
	line, err := now.Line()
	if err != nil {
		return err
	}
	_, err = r.file.Write(line)
	return err
}

func (r *recorder) addPage(p RecordedPage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.cassette.AddPage(p) {
		return nil
	}
	line, err := p.Line()
	if err != nil {
		return err
	}
	_, err = r.file.Write(line)
	return err
}

// close puts the file in order. What another process appended meanwhile stays.
func (r *recorder) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.file.Close(); err != nil {
		return cassetteError("write cassette", r.path, err)
	}
	onDisk, err := ReadCassette(r.path)
	if err != nil {
		return err
	}
	for key, e := range r.cassette.entries {
		onDisk.entries[key] = e
	}
	for address, p := range r.cassette.pages {
		onDisk.pages[address] = p
	}
	return onDisk.Write()
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
	if err != nil {
		s.options.Log("warn", "a completion of provider "+p.Name+" was not recorded: "+err.Error())
	}
}
