package fetch

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// TestPage is a whole row of evidence.
func TestPage(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<title>A &amp; B</title><p>one<p>two")
	})
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	want := &dag.Page{
		URL:      s.URL + "/a",
		FinalURL: s.URL + "/a",
		Status:   200,
		Verdict:  dag.PageLive,
		At:       time.Date(2026, 1, 15, 9, 15, 0, 123_000_000, time.UTC),
		Digest:   "a816eaa0bfcfae0806381f4c75bf66ac0ca1774e2726ddcf82342b4baf878959",
		Attempts: 1,
		Exempt:   []string{s.host},
		Text:     "A & B\none\ntwo",
	}
	if diff := cmp.Diff(want, r.read(t, s.URL+"/a")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !r.Source().IsZero() {
		t.Error("pages of the web come from a recording")
	}
}
