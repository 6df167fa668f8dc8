package fetch

import (
	"io"
	"net/http"
	"testing"

	"github.com/penstock-run/penstock/dag"
)

func TestReadLive(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, htmlPage("<title>A &amp; B</title>", "<p>one<p>two"))
	})
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	page := r.read(t, s.URL+"/a")
	if page.Verdict != dag.PageLive || page.Text != "A & B\none\ntwo" {
		t.Errorf("%+v", page)
	}
}
