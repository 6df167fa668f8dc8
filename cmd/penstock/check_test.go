package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// TestChecksAloneAreShown: each kind that this version runs holds in a script, and
// fails in one.
func TestChecksAloneAreShown(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/check*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	for _, info := range dag.CheckKinds() {
		if !info.Supported {
			continue
		}
		for what, form := range map[string]string{
			"hold": `(?m)^exec penstock check ` + string(info.Kind) + ` --with \S+\nstdout '\^holds`,
			"fail": `(?m)^exits 5 penstock check ` + string(info.Kind) + ` --with \S+\n(stdout '\^fails|cmp stdout)`,
		} {
			if !regexp.MustCompile(form).Match(all) {
				t.Errorf("no script lets `penstock check %s` %s", info.Kind, what)
			}
		}
	}
}

// TestEveryArgumentHasAForm: `penstock check` can say of each argument what is to be
// written.
func TestEveryArgumentHasAForm(t *testing.T) {
	for _, info := range dag.CheckKinds() {
		for _, m := range members(info) {
			if memberForms[m.kind] == "" {
				t.Errorf("%s.%s is of the type %q, and nothing says how that is written", info.Kind, m.name, m.kind)
			}
		}
	}
}

// Without pages in its file the command reads the web, by the rules of the web: a
// host of this machine only where allow_hosts names it.
func TestCheckReadsTheWeb(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch r.URL.Path {
		case "/there":
			_, _ = w.Write([]byte("<html><body><p>So it <b>was</b>, they say.</p></body></html>"))
		case "/wall":
			w.WriteHeader(http.StatusForbidden)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	allow := object{"allow_hosts": []string{host}}
	for _, tt := range []struct {
		name, kind string
		file       object
		status     int
		want       string
	}{
		{"live", "live", allow.with(object{"urls": []string{server.URL + "/there"}}), 0, "holds, figure 1\n"},
		{"dead", "live", allow.with(object{"urls": []string{server.URL + "/there", server.URL + "/gone"}}), 5, "/gone is dead: status 404"},
		{"blocked", "live", allow.with(object{"urls": []string{server.URL + "/wall"}, "blocked": "undecided"}), 2, "could not tell, figure 0: "},
		{"quoted", "quoted", allow.with(object{"sources": []object{{"url": server.URL + "/there", "quote": "so it was"}}}), 0, "holds, figure 1\n"},
		{"misquoted", "quoted", allow.with(object{"sources": []object{{"url": server.URL + "/there", "quote": "so it is"}}}), 5, "does not stand in "},
		{"not allowed", "live", object{"urls": []string{server.URL + "/there"}}, 5, "is dead: "},
	} {
		before := asked
		var out, errs bytes.Buffer
		status := Main([]string{"check", tt.kind, "--with", "-"}, strings.NewReader(tt.file.String()), &out, &errs)
		if status != tt.status || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: exit %d, want %d:\n%s%s", tt.name, status, tt.status, &out, &errs)
		}
		if tt.name == "not allowed" && asked != before {
			t.Errorf("a host that is not allowed was asked %d times", asked-before)
		}
	}
}
