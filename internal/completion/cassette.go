package completion

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// maxLine bounds one recorded completion: what the plugin protocol lets pass.
const maxLine = 64 << 20

// Cassette holds recorded completions by the key of their request, and recorded
// pages of the web by their address.
type Cassette struct {
	path    string
	entries map[dag.Digest]*Entry
	pages   map[string]*RecordedPage
	torn    int // line that its writer did not come to the end of, and that counts as absent; 0: none
}

// Entry is one recorded completion, a line of a cassette. Key may be left out
// of a line that is written by hand: it follows from the request.
type Entry struct {
	Key        dag.Digest `json:"key,omitzero"`
	Note       string     `json:"note,omitzero"` // for people
	Request    Request    `json:"request"`
	Reply      Reply      `json:"reply"`
	RecordedAt time.Time  `json:"recorded_at,omitzero"`

	line int // where it was read; 0: added since
}

// Reply is a recorded answer. Text is what the model wrote, byte for byte;
// JSON stands in its place where that is a document, since it reads better.
type Reply struct {
	Text         string         `json:"text,omitzero"`
	JSON         jsontext.Value `json:"json,omitzero"`
	FinishReason string         `json:"finish_reason"` // "stop", "length", "refusal", "content_filter"
	Refusal      string         `json:"refusal,omitzero"`
	Model        string         `json:"model,omitzero"` // as the server gave it
	Usage        *Usage         `json:"usage,omitzero"`
	Notes        []string       `json:"notes,omitempty"` // of its provider, for the trail
}

// Usage is in tokens. Input includes CachedInput and CacheWrite, Output includes
// Reasoning.
type Usage struct {
	Input       int64 `json:"input,omitzero"`
	CachedInput int64 `json:"cached_input,omitzero"` // read from the provider's cache, in tokens; 0: none, or not told
	CacheWrite  int64 `json:"cache_write,omitzero"`  // written to it, in tokens; 0: none, or not told
	Output      int64 `json:"output,omitzero"`
	Reasoning   int64 `json:"reasoning,omitzero"` // thought, in tokens; 0: none, or not told
}

var finishReasons = []string{"stop", "length", "refusal", "content_filter"}

// NewCassette is an empty cassette that writes to path.
func NewCassette(path string) *Cassette {
	return &Cassette{path: path, entries: map[dag.Digest]*Entry{}, pages: map[string]*RecordedPage{}}
}

// ReadCassette reads a cassette. Of two lines with the same key or address the later
// one holds, as a recording that was broken off leaves them. So does a last line that
// has no end: it counts as absent. Any other line that cannot be read is an error that
// names file and line.
func ReadCassette(path string) (*Cassette, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cassetteError("open cassette", path, err)
	}
	defer f.Close()
	c := NewCassette(path)
	if err := c.read(f); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cassette) read(r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		line, err := readLine(in)
		if err != nil && err != io.EOF {
			return cassetteError("read cassette", fmt.Sprintf("%s:%d", c.path, number), err)
		}
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			if err == io.EOF && torn(trimmed) {
				c.torn = number
				return nil
			}
			if damage := c.parse(trimmed, number); damage != nil {
				return cassetteError("read cassette", fmt.Sprintf("%s:%d", c.path, number), damage)
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// parse takes in one line, of either shape.
func (c *Cassette) parse(line []byte, number int) error {
	if isPage(line) {
		p, err := parsePage(line)
		if err != nil {
			return err
		}
		p.line = number
		c.pages[p.Page.URL] = p
		return nil
	}
	e, err := parseEntry(line)
	if err != nil {
		return err
	}
	e.line = number
	c.entries[e.Key] = e
	return nil
}

// readLine gives the next line without a bound of the reader's own buffer.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("the line is longer than %d MiB", maxLine>>20)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// cassetteError is about a file that the user named: nothing was started, but where
// it is written, which is at the end of a run.
func cassetteError(op, subject string, err error) error {
	e := &dag.Error{Op: op, Subject: subject, Kind: dag.KindConfig, Err: err}
	if op == "write cassette" {
		e.Kind = dag.KindInfrastructure
	}
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist) && op == "record completions":
		e.Err = errors.New("its folder does not exist")
		e.Hint = "make the folder first: mkdir -p " + filepath.Dir(subject)
	case errors.Is(err, fs.ErrNotExist):
		e.Err = fs.ErrNotExist
		e.Hint = "record one with: penstock run --live --record " + subject
	case errors.As(err, &path):
		e.Err = path.Err
	case op == "read cassette":
		e.Hint = "mend the line, or remove it and record it anew with: penstock run --live --record FILE"
	}
	return e
}

func parseEntry(line []byte) (*Entry, error) {
	var e Entry
	if err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true)); err != nil {
		return nil, plainJSONError(err, "a recorded completion", line)
	}
	e.Request.Sampling = e.Request.Sampling.orNil()
	switch {
	case len(e.Request.Messages) == 0:
		return nil, errors.New("request.messages is missing or empty: a recorded request has at least one message")
	case e.Reply.JSON != nil && e.Reply.Text != "":
		return nil, errors.New("reply has both text and json: write one of them")
	case !slices.Contains(finishReasons, e.Reply.FinishReason):
		return nil, fmt.Errorf("reply.finish_reason is %q: write one of %s", e.Reply.FinishReason, strings.Join(finishReasons, ", "))
	}
	for i := range e.Request.Messages {
		m := &e.Request.Messages[i]
		if m.Role == "" {
			return nil, fmt.Errorf("request.messages[%d].role is missing: write \"user\" or \"assistant\"", i)
		}
		if len(m.Parts) > 0 && m.Text != "" {
			return nil, fmt.Errorf("request.messages[%d] has both text and parts: write one of them", i)
		}
	}
	if e.Reply.JSON != nil { // without the layout of a hand-written line, as it is written back
		compact, err := json.Marshal(e.Reply.JSON)
		if err != nil {
			return nil, plainJSONError(err, "a recorded completion", e.Reply.JSON)
		}
		e.Reply.JSON = compact
	}
	key, err := e.Request.Key()
	if err != nil {
		return nil, err
	}
	if !e.Key.IsZero() && e.Key != key {
		return nil, fmt.Errorf("key is %s, but the request's own is %s: leave the key out after an edit by hand", e.Key.Short(), key.Short())
	}
	e.Key = key
	return &e, nil
}

// plainJSONError says where in a line and why, without the Go types of this package.
func plainJSONError(err error, of string, line []byte) error {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		where := string(semantic.JSONPointer)
		if where == "" {
			where = "the line"
		}
		if semantic.Err == json.ErrUnknownName {
			return fmt.Errorf("%s is not a member of %s", where, of)
		}
		if semantic.Err != nil {
			return fmt.Errorf("%s: %w", where, semantic.Err)
		}
		return fmt.Errorf("%s cannot be a JSON %s", where, semantic.JSONKind)
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		column := utf8.RuneCount(line[:min(int(syntactic.ByteOffset), len(line))]) + 1
		if syntactic.JSONPointer != "" {
			return fmt.Errorf("not JSON at column %d, in %s: %w", column, syntactic.JSONPointer, syntactic.Err)
		}
		return fmt.Errorf("not JSON at column %d: %w", column, syntactic.Err)
	}
	return fmt.Errorf("not JSON: %w", err)
}

// Len is the number of recorded completions.
func (c *Cassette) Len() int { return len(c.entries) }

// Lookup gives the recorded completion of a request.
func (c *Cassette) Lookup(key dag.Digest) (*Entry, bool) {
	e, ok := c.entries[key]
	return e, ok
}

// Add records a completion. Where the same answer is recorded already, the old
// line stays as it is, so that recording anew changes only what has changed.
func (c *Cassette) Add(e Entry) error {
	key, err := e.Request.Key()
	if err != nil {
		return err
	}
	e.Key = key
	if old, ok := c.entries[key]; ok && old.Reply.same(&e.Reply) {
		return nil
	}
	c.entries[key] = &e
	return nil
}

// same tells whether two replies are the same answer; usage may differ.
func (r *Reply) same(o *Reply) bool {
	return r.text() == o.text() && r.FinishReason == o.FinishReason && r.Refusal == o.Refusal && r.Model == o.Model
}

// text is the answer as the model wrote it.
func (r *Reply) text() string {
	if r.JSON != nil {
		return string(r.JSON)
	}
	return r.Text
}

// Entries lists what is recorded in the order in which it is written: by
// system, then by the messages' texts, so that the requests of one stage stand
// together and a diff of two recordings is short.
func (c *Cassette) Entries() []*Entry {
	all := make([]*Entry, 0, len(c.entries))
	for _, e := range c.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *Entry) int {
		if n := strings.Compare(a.Request.System, b.Request.System); n != 0 {
			return n
		}
		n := slices.CompareFunc(a.Request.Messages, b.Request.Messages, func(x, y Message) int {
			return cmp.Or(strings.Compare(x.content(), y.content()), strings.Compare(x.Role, y.Role))
		})
		return cmp.Or(n, bytes.Compare(a.Key[:], b.Key[:]))
	})
	return all
}

// Line is the entry as one line of a cassette, its newline with it.
func (e *Entry) Line() ([]byte, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// Write replaces the file by what is recorded, completions first, then pages, both
// sorted, whole or not at all.
func (c *Cassette) Write() error {
	var out bytes.Buffer
	for _, e := range c.Entries() {
		line, err := e.Line()
		if err != nil {
			return cassetteError("write cassette", c.path, err)
		}
		out.Write(line)
	}
	for _, p := range c.Pages() {
		line, err := p.Line()
		if err != nil {
			return cassetteError("write cassette", c.path, err)
		}
		out.Write(line)
	}
	if err := replaceFile(c.path, out.Bytes()); err != nil {
		return cassetteError("write cassette", c.path, err)
	}
	return nil
}

// newReply takes what is kept of an answer. The server's request id is not:
// it would make every recording differ.
func newReply(wire *proto.CompletionReply) Reply {
	r := Reply{FinishReason: wire.GetFinishReason(), Refusal: wire.GetRefusal(), Model: wire.GetModel(), Notes: wire.GetNotes()}
	text := wire.GetText()
	if text == "" && len(wire.GetJson()) > 0 {
		text = string(wire.GetJson())
	}
	// A document stands as such only where reading the line back gives the very same bytes.
	if b, err := json.Marshal(jsontext.Value(text)); err == nil && string(b) == text && text != "null" {
		r.JSON = b
	} else {
		r.Text = text
	}
	if u := wire.GetUsage(); u != nil {
		r.Usage = &Usage{Input: u.GetInput(), CachedInput: u.GetCachedInput(), CacheWrite: u.GetCacheWrite(), Output: u.GetOutput(), Reasoning: u.GetReasoning()}
	}
	return r
}

// wire is the reply as a plugin gets it; every caller gets its own.
func (r *Reply) wire(origin string) *proto.CompletionReply {
	out := &proto.CompletionReply{Text: r.text(), FinishReason: r.FinishReason, Refusal: r.Refusal, Model: r.Model, Origin: origin, Notes: slices.Clone(r.Notes)}
	if u := r.Usage; u != nil {
		out.Usage = &proto.Usage{Input: u.Input, CachedInput: u.CachedInput, CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning}
	}
	return out
}
