package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/completion"
)

// readAt is when every page was read, by the script: nobody opened one.
var readAt = time.Date(2026, 1, 15, 10, 15, 0, 0, time.UTC)

// Page is what an address of a report comes to, where it is not just a page that
// holds the quotes.
type Page struct {
	URL      string          `json:"url"`
	FinalURL string          `json:"final_url"` // where its redirects end; empty: there are none
	Status   int             `json:"status"`    // 0: 200
	Verdict  dag.PageVerdict `json:"verdict"`   // empty: live
	Why      string          `json:"why"`       // of a page that is not live
}

// pages are all addresses of all reports as pages. A page holds the title of the
// first topic that names it, and what reports quote from it.
func (s *Script) pages() ([]completion.RecordedPage, error) {
	all := map[string]*completion.RecordedPage{}
	for _, b := range s.Batches {
		for _, c := range b.Candidates {
			if err := c.addPages(all); err != nil {
				return nil, fmt.Errorf("%s, %q: %w", b.key(), c.Title, err)
			}
		}
	}
	pages := make([]completion.RecordedPage, 0, len(all))
	for _, p := range all {
		if p.Text != "" {
			p.Page.Digest = dag.Sum([]byte(p.Text)).String()
		}
		pages = append(pages, *p)
	}
	return pages, nil
}

// addPages adds those that the candidate's reports name.
func (c *Candidate) addPages(all map[string]*completion.RecordedPage) error {
	special := map[string]Page{}
	for _, p := range c.Pages {
		if all[p.URL] != nil {
			return fmt.Errorf("%s is a page of another candidate already", p.URL)
		}
		special[p.URL] = p
	}
	for _, source := range c.sources() {
		address, quote := source[0], source[1]
		p := all[address]
		if p == nil {
			p = c.page(address, special[address])
			all[address] = p
		}
		delete(special, address)
		if p.Page.Verdict == dag.PageLive && !strings.Contains(p.Text, quote) {
			p.Text += quote + "\n"
		}
	}
	for address := range special {
		return fmt.Errorf("no report names the page %s", address)
	}
	return nil
}

// sources are those of all reports on the candidate.
func (c *Candidate) sources() [][2]string {
	var all [][2]string
	for _, v := range []*Verdict{c.Report, c.Rereport} {
		if v != nil {
			all = append(all, v.Sources...)
		}
	}
	return all
}

// page is a page before anything is quoted from it.
func (c *Candidate) page(address string, special Page) *completion.RecordedPage {
	p := &completion.RecordedPage{Note: fmt.Sprintf("written by hand: page, %s, %s", c.batch.key(), c.Title)}
	p.Page = dag.Page{URL: address, FinalURL: address, Status: 200, Verdict: dag.PageLive, At: readAt, Attempts: 1}
	if special.FinalURL != "" {
		p.Page.FinalURL, p.Page.Hops = special.FinalURL, []string{address}
	}
	if special.Verdict != "" {
		p.Page.Status, p.Page.Verdict, p.Page.Why = special.Status, special.Verdict, special.Why
		return p
	}
	p.Text = c.Title + "\n\n"
	return p
}
