package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/penstock-run/penstock/dag"
)

// web is what the network phase has read for one candidate, each address once, so
// that all checks judge the same pages.
type web struct {
	reader Pages
	pages  map[string]*dag.Page // by address as given
}

// readsAtOnce bounds how many pages of one candidate are read at a time.
const readsAtOnce = 8

// defaultTimeout is how long one attempt at a page may take where no check says.
const defaultTimeout = 20 * time.Second

// read reads what was not read yet. An error means that nothing is known.
func (w *web) read(ctx context.Context, asked []source, timeout time.Duration) error {
	var addresses []string
	for _, s := range asked {
		if w.pages[s.URL] == nil && !slices.Contains(addresses, s.URL) {
			addresses = append(addresses, s.URL)
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	pages := make([]*dag.Page, len(addresses))
	slots := make(chan struct{}, readsAtOnce)
	var readers sync.WaitGroup
	for i, address := range addresses {
		slots <- struct{}{}
		readers.Go(func() {
			defer func() { <-slots }()
			page, err := w.readOne(ctx, address, timeout)
			if err != nil {
				stop(err) // the others would be read for nothing
			}
			pages[i] = page
		})
	}
	readers.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if w.pages == nil {
		w.pages = make(map[string]*dag.Page, len(addresses))
	}
	for i, address := range addresses {
		w.pages[address] = pages[i]
	}
	return nil
}

// readOne reads one page in a goroutine of its own: a reader that panics, that says
// nothing, or that takes no notice of its context holds nobody up and is an error.
func (w *web) readOne(ctx context.Context, address string, timeout time.Duration) (*dag.Page, error) {
	type answer struct {
		page *dag.Page
		err  error
	}
	came := make(chan answer, 1) // with room for one that comes too late
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a = answer{nil, &dag.Error{Op: "read the page", Subject: address, Kind: dag.KindBug, Err: fmt.Errorf("the reader panicked: %v", p)}}
			}
			came <- a
		}()
		a.page, a.err = w.reader.Read(ctx, address, timeout)
		if a.err == nil && a.page == nil {
			a.err = &dag.Error{Op: "read the page", Subject: address, Kind: dag.KindBug, Err: errors.New("the reader gave neither a page nor an error")}
		}
	}()
	select {
	case a := <-came:
		return a.page, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// page is what was read at an address; the zero page, which is not live, where
// nothing was.
func (w *web) page(address string) dag.Page {
	if page := w.pages[address]; page != nil {
		return *page
	}
	return dag.Page{URL: address}
}

// notLive says what an address came to instead of a live page; "" where it is one.
// A blocked page is told apart from a dead one even where both refuse.
func notLive(address string, page dag.Page) string {
	why := page.Why
	if why == "" && page.Status != 0 {
		why = fmt.Sprintf("status %d", page.Status)
	}
	if why != "" {
		why = ": " + why
	}
	switch page.Verdict {
	case dag.PageLive:
		return ""
	case dag.PageDead:
		return address + " is dead" + why
	case dag.PageBlocked:
		return address + " is blocked" + why
	}
	return fmt.Sprintf("what %s came to is %q, which says nothing", address, string(page.Verdict))
}

// pageRow is a page as checks.<name>.pages has it.
type pageRow struct {
	dag.Page
	At string `json:"at"` // in the form of all times of a corpus
}

// rowsOf are pages in the order in which they were asked for.
func (w *web) rowsOf(asked []source) []pageRow {
	rows := make([]pageRow, len(asked))
	for i, s := range asked {
		page := w.page(s.URL)
		page.Text = "" // the row outlives the text, and has no place for it
		rows[i] = pageRow{page, timestamp(page.At)}
	}
	return rows
}

// exempt lists the hosts that only allow_hosts let past the address rule.
func (w *web) exempt() []string {
	var hosts []string
	for _, page := range w.pages {
		hosts = append(hosts, page.Exempt...)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// judged is what a check of pages came to: it holds where nothing stands against
// it, it fails where something refuses, and else it could not tell.
func judged(details []Detail, refuses bool, found map[string]any) result {
	r := result{state: undecided, details: details, found: found}
	switch {
	case len(details) == 0:
		r.state = held
		return r
	case refuses:
		r.state = failed
	}
	r.evidence = tellAll(details)
	return r
}

// tellAll makes one line of several details.
func tellAll(details []Detail) string {
	if len(details) == 1 {
		return details[0].Why
	}
	return fmt.Sprintf("%s; and %d more", details[0].Why, len(details)-1)
}
