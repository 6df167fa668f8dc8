package completion

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
)

// RecordedPage is a page of the web, a line of a cassette. It is found by its
// address, exactly as it was asked for.
//
// A line that is written by hand needs page.url, page.verdict and page.at, and
// page.why where the page is not live; a live page has status 200 and ends where
// it began unless the line says otherwise.
type RecordedPage struct {
	Note string   `json:"note,omitzero"` // for people
	Page dag.Page `json:"page"`
	Text string   `json:"text,omitzero"` // what a reader sees

	line int // where it was read; 0: added since
}

// PageReader reads pages. internal/fetch has the one that reads the web.
type PageReader interface {
	Read(ctx context.Context, address string, timeout time.Duration) (*dag.Page, error)
	Source() dag.Digest
}

// Pages answers from the recorded pages while the run replays. Else it reads with
// web, which may be nil under replay, and records where the run records.
func (s *Service) Pages(web PageReader) PageReader {
	if s.replay != nil {
		return &recordedPages{s: s, source: s.replay.pagesDigest()}
	}
	return &livePages{s: s, web: web}
}

// recordedPages reads no page of the web.
type recordedPages struct {
	s      *Service
	source dag.Digest
}

func (r *recordedPages) Source() dag.Digest { return r.source }

func (r *recordedPages) Read(_ context.Context, address string, _ time.Duration) (*dag.Page, error) {
	recorded, ok := r.s.replay.LookupPage(address)
	if !ok {
		r.s.count(func(c *Counters) { c.Misses++ })
		return nil, r.s.replay.pageMiss(address)
	}
	r.s.count(func(c *Counters) { c.PagesReplayed++ })
	page := recorded.Page
	page.Hops, page.Exempt = slices.Clone(page.Hops), slices.Clone(page.Exempt)
	page.Text, page.Recorded = recorded.Text, true
	return &page, nil
}

// livePages reads the web and keeps what the run records.
type livePages struct {
	s   *Service
	web PageReader
}

func (l *livePages) Source() dag.Digest { return l.web.Source() }

func (l *livePages) Read(ctx context.Context, address string, timeout time.Duration) (*dag.Page, error) {
	page, err := l.web.Read(ctx, address, timeout)
	if err != nil {
		return nil, err
	}
	l.s.count(func(c *Counters) { c.PagesRead++ })
	l.s.recordPage(address, page)
	return page, nil
}

// recordPage adds a page to the cassette that is being recorded, a dead one too:
// what is recorded must replay the whole run.
func (s *Service) recordPage(address string, page *dag.Page) {
	if s.recorder == nil {
		return
	}
	err := s.mayHold(page)
	if err == nil {
		kept := RecordedPage{Page: *page, Text: page.Text}
		kept.Page.URL = address
		err = s.recorder.addPage(kept)
	}
	if s.unwritten(err) {
		return
	}
	if err != nil {
		named := withoutUser(address)
		for _, p := range s.options.Withhold {
			named = redact(p, named)
		}
		s.options.Log("warn", "the page "+named+" was not recorded: "+err.Error())
	}
}

// mayHold says why a page must not be written down.
func (s *Service) mayHold(page *dag.Page) error {
	addresses := append([]string{page.URL, page.FinalURL}, page.Hops...)
	for _, address := range addresses {
		if withoutUser(address) != address {
			return errors.New("its address holds a name or a password")
		}
	}
	for _, p := range s.options.Withhold {
		if leaks(p, append(addresses, page.Why, page.Text)...) {
			return errors.New("it holds a secret of provider " + p.Name)
		}
	}
	return nil
}

// withoutUser is an address without the part before an @, in which a password
// may stand. What is no address stays as it is if there is no @ in it.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil && strings.Contains(address, "@"):
		return "(an address that cannot be read)"
	case err != nil || u.User == nil:
		return address
	}
	u.User = nil
	return u.String()
}

// AddPage records a page and tells whether that changes anything. Where the same
// is recorded already, the old line stays as it is.
func (c *Cassette) AddPage(p RecordedPage) bool {
	p.Page.Text, p.Page.Recorded = "", false
	if old, ok := c.pages[p.Page.URL]; ok && old.same(&p) {
		return false
	}
	c.pages[p.Page.URL] = &p
	return true
}

// same tells whether two readings came to the same; when and after how many
// attempts may differ.
func (p *RecordedPage) same(o *RecordedPage) bool {
	a, b := p.Page, o.Page
	return p.Text == o.Text && a.FinalURL == b.FinalURL && a.Status == b.Status && a.Verdict == b.Verdict && a.Why == b.Why &&
		a.Digest == b.Digest && a.NoAnswer == b.NoAnswer && slices.Equal(a.Hops, b.Hops) && slices.Equal(a.Exempt, b.Exempt)
}

// LookupPage gives what is recorded of an address.
func (c *Cassette) LookupPage(address string) (*RecordedPage, bool) {
	p, ok := c.pages[address]
	return p, ok
}

// Pages lists the recorded pages by address.
func (c *Cassette) Pages() []*RecordedPage {
	all := make([]*RecordedPage, 0, len(c.pages))
	for _, p := range c.pages {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *RecordedPage) int { return strings.Compare(a.Page.URL, b.Page.URL) })
	return all
}

// Line is the page as one line of a cassette, its newline with it.
func (p *RecordedPage) Line() ([]byte, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// pagesDigest identifies what is recorded of the web. It is never zero, which
// would be the web itself.
func (c *Cassette) pagesDigest() dag.Digest {
	all := []byte("pages/1\n")
	for _, p := range c.Pages() {
		plain := RecordedPage{Page: p.Page, Text: p.Text}
		line, err := plain.Line()
		if err != nil {
			panic(fmt.Sprintf("completion: a page that was read from JSON is no JSON: %v", err))
		}
		all = append(all, line...)
	}
	return dag.Sum(all)
}

// pageMiss says that a page is not recorded, which is the nearest that is, and
// how to record it.
func (c *Cassette) pageMiss(address string) error {
	said := fmt.Sprintf("no page is recorded under this address (%s holds %d)", c.path, len(c.pages))
	var near *RecordedPage
	best := -1.0
	for url, p := range c.pages {
		if s := shared(url, address); s > best || s == best && url < near.Page.URL {
			near, best = p, s
		}
	}
	if near != nil {
		said += fmt.Sprintf("\nnearest: line %d, %s", near.line, near.Page.URL)
	}
	// In the message, not as a hint: what parks an item is told by its message.
	said += "\nrecord it with: penstock run --live --record " + c.path
	return &dag.Error{Op: "read page", Subject: withoutUser(address), Kind: dag.KindInfrastructure, Code: dag.EReplayMiss, Err: errors.New(said)}
}

// isPage tells a recorded page from a recorded completion.
func isPage(line []byte) bool {
	switch {
	case bytes.HasPrefix(line, []byte(`{"page":`)):
		return true
	case bytes.HasPrefix(line, []byte(`{"key":`)):
		return false // as completions are written; a hand-written line may begin otherwise
	}
	in := jsontext.NewDecoder(bytes.NewReader(line))
	if t, err := in.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for in.PeekKind() == '"' {
		name, err := in.ReadToken()
		if err != nil || name.String() == "page" {
			return err == nil
		}
		if err := in.SkipValue(); err != nil {
			return false
		}
	}
	return false
}

func parsePage(line []byte) (*RecordedPage, error) {
	p := &RecordedPage{}
	if err := json.Unmarshal(line, p, json.RejectUnknownMembers(true)); err != nil {
		return nil, plainJSONError(err, "a recorded page", line)
	}
	page := &p.Page
	u, err := url.Parse(page.URL)
	switch {
	case page.URL == "":
		return nil, errors.New("page.url is missing: write the address as it is asked for")
	case err == nil && u.User != nil:
		return nil, errors.New("page.url has a name or a password before its host: write the address without it")
	case page.Verdict == "":
		return nil, errors.New(`page.verdict is missing: write "live", "dead" or "blocked"`)
	case page.Verdict != dag.PageLive && page.Verdict != dag.PageDead && page.Verdict != dag.PageBlocked:
		return nil, fmt.Errorf(`page.verdict is %q: write "live", "dead" or "blocked"`, page.Verdict)
	case page.Verdict == dag.PageLive && page.Why != "":
		return nil, errors.New(`page.why says why a page is not live, but page.verdict is "live": write one of them`)
	case page.Verdict != dag.PageLive && page.Why == "":
		return nil, fmt.Errorf(`page.why is missing: write why the page is %s, such as "status 404"`, page.Verdict)
	case page.At.IsZero():
		return nil, errors.New(`page.at is missing: write when the page was read, such as "2026-01-15T10:15:00Z"`)
	}
	if page.Verdict == dag.PageLive {
		if page.Status == 0 {
			page.Status = 200
		}
		if page.FinalURL == "" {
			page.FinalURL = page.URL
		}
	}
	page.At = page.At.UTC()
	page.Recorded = false
	return p, nil
}

// Digest identifies the recorded completions of the cassette at path: the hash
// of its lines but for those that are pages, which decide nothing about a stage.
func Digest(path string) (dag.Digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return dag.Digest{}, cassetteError("open cassette", path, err)
	}
	defer f.Close()
	var completions []byte
	for in := bufio.NewReaderSize(f, 64<<10); ; {
		line, err := readLine(in)
		if err != nil && err != io.EOF {
			return dag.Digest{}, cassetteError("read cassette", path, err)
		}
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && !isPage(trimmed) && !(err == io.EOF && torn(trimmed)) {
			completions = append(completions, line...)
		}
		if err == io.EOF {
			return dag.Sum(completions), nil
		}
	}
}
