package fetch

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// hopping serves a page at every path but for those that redirect.
func hopping(to map[string]string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		location, ok := to[r.URL.RequestURI()]
		if !ok {
			_, _ = io.WriteString(w, "here is "+r.URL.RequestURI())
			return
		}
		if location != "" {
			w.Header()["Location"] = []string{location}
		}
		w.WriteHeader(status)
	}
}

func TestRedirects(t *testing.T) {
	chain := func(n int) map[string]string {
		to := map[string]string{}
		for i := range n {
			to[fmt.Sprintf("/%d", i)] = fmt.Sprintf("/%d", i+1)
		}
		return to
	}
	for _, tt := range []struct {
		name     string
		to       map[string]string
		from     string
		final    string // where a live page stands
		why      string
		requests int
	}{
		{"one", chain(1), "/0", "/1", "", 2},
		{"five", chain(5), "/0", "/5", "", 6},
		{"six", chain(6), "/0", "", "it redirects more than 5 times", 6},
		{"to itself", map[string]string{"/a": "/a"}, "/a", "", "the redirects go round in a loop", 1},
		{"to itself but for the fragment", map[string]string{"/a": "/a#b"}, "/a", "", "the redirects go round in a loop", 1},
		{"two in a loop", map[string]string{"/a": "/b", "/b": "/a"}, "/a", "", "the redirects go round in a loop", 2},
		{"no Location", map[string]string{"/a": ""}, "/a", "", "status 302 without a Location", 1},
		{"a blank Location", map[string]string{"/a": "  "}, "/a", "", "status 302 without a Location", 1},
		{"a relative one", map[string]string{"/a/b": "../c?d=e"}, "/a/b", "/c?d=e", "", 2},
		{"a query alone", map[string]string{"/a": "?q=1"}, "/a", "/a?q=1", "", 2},
		{"without a scheme", map[string]string{"/a": "//HOST/b"}, "/a", "/b", "", 2},
		{"white space around", map[string]string{"/a": " /b\t"}, "/a", "/b", "", 2},
		{"white space within", map[string]string{"/a": "/b c?d e"}, "/a", "/b%20c?d%20e", "", 2},
		{"letters that are not ASCII", map[string]string{"/a": "/é"}, "/a", "/%C3%A9", "", 2},
		{"Latin-1", map[string]string{"/a": "/\xe9"}, "/a", "/%E9", "", 2},
		{"a stray percent sign", map[string]string{"/a": "/100%"}, "/a", "/100%25", "", 2},
		{"a backslash", map[string]string{"/a": `\b`}, "/a", "/b", "", 2},
		{"dot segments", map[string]string{"/a": "/b/../../c/./d"}, "/a", "/c/d", "", 2},

		{"another scheme", map[string]string{"/a": "ftp://HOST/b"}, "/a", "", "it redirects to ftp://HOST/b: the URL does not start with http:// or https://", 1},
		{"a program", map[string]string{"/a": "javascript:alert(1)"}, "/a", "", "it redirects to javascript:alert(1): the URL does not start with http:// or https://", 1},
		{"a file", map[string]string{"/a": "file:///etc/passwd"}, "/a", "", "it redirects to file:///etc/passwd: the URL does not start with http:// or https://", 1},
		{"no host", map[string]string{"/a": "http:///b"}, "/a", "", "it redirects to http:///b: the URL has no host", 1},
		{"credentials", map[string]string{"/a": "http://u:p@HOST/b"}, "/a", "", "it redirects to http://u:p@HOST/b: the URL holds credentials before its host", 1},
		{"a port", map[string]string{"/a": "http://127.0.0.1:1/b"}, "/a", "", "it redirects to http://127.0.0.1:1/b: the port 1 is neither 80 nor 443", 1},
		{"loopback", map[string]string{"/a": "http://127.0.0.1/b"}, "/a", "", "it redirects to http://127.0.0.1/b: the address 127.0.0.1 is not public (loopback)", 1},
		{"loopback in decimal", map[string]string{"/a": "//2130706433/b"}, "/a", "", "it redirects to http://2130706433/b: the address 127.0.0.1 is not public (loopback)", 1},
		{"loopback behind backslashes", map[string]string{"/a": `\\127.1\b`}, "/a", "", "it redirects to http://127.1/b: the address 127.0.0.1 is not public (loopback)", 1},
		{"a zone", map[string]string{"/a": "http://[fe80::1%25lo]/"}, "/a", "", `it redirects to http://[fe80::1%25lo]/: the host "[fe80::1%25lo]" is not an IPv6 address`, 1},
		{"metadata", map[string]string{"/a": "http://169.254.169.254/b"}, "/a", "", "it redirects to http://169.254.169.254/b: the address 169.254.169.254 is not public (link-local)", 1},

		{"a deep page to the front page", map[string]string{"/a/b": "/"}, "/a/b", "", "it redirects to the front page of HOST", 2},
		{"a page to the front page", map[string]string{"/a": "http://HOST"}, "/a", "", "it redirects to the front page of HOST", 2},
		{"by way of another", map[string]string{"/a": "/b", "/b": "/"}, "/a", "", "it redirects to the front page of HOST", 3},
		{"below an index", map[string]string{"/index.php/a": "/"}, "/index.php/a", "", "it redirects to the front page of HOST", 2},
		{"an index to the front page", map[string]string{"/index.html": "/"}, "/index.html", "/", "", 2},
		{"the front page to itself by another name", map[string]string{"/?x": "/"}, "/?x", "/", "", 2},
		{"to the front page with a question", map[string]string{"/a": "/?p=12"}, "/a", "/?p=12", "", 2},
		{"the front page to a language", map[string]string{"/": "/en/"}, "/", "/en/", "", 2},
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			if status != 302 && tt.name != "one" {
				continue
			}
			t.Run(fmt.Sprint(tt.name, " ", status), func(t *testing.T) {
				to := map[string]string{}
				s := newSite(t, hopping(to, status))
				host := func(text string) string { return strings.ReplaceAll(text, "HOST", s.host) }
				for from, location := range tt.to {
					to[from] = host(location)
				}
				r := newRig(t, Options{AllowHosts: []string{s.host}})
				page := r.read(t, s.URL+tt.from)
				if page.Why != host(tt.why) || (page.Verdict == dag.PageLive) != (tt.why == "") {
					t.Errorf("%+v; want %q", page, host(tt.why))
				}
				if tt.why == "" && (page.FinalURL != s.URL+tt.final || page.Text != "here is "+tt.final) {
					t.Errorf("%s says %q; want %s", page.FinalURL, page.Text, tt.final)
				}
				if n := len(s.requests()); n != tt.requests || page.Attempts != 1 {
					t.Errorf("%d requests in %d attempts; want %d in 1", n, page.Attempts, tt.requests)
				}
			})
		}
	}
}

func TestHops(t *testing.T) {
	s := newSite(t, hopping(map[string]string{"/a?b=c": "/d", "/d": "/e"}, 301))
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	address := strings.ToUpper(s.URL) + "/a?b=c#fragment"
	page := r.read(t, address)
	page.Digest = ""
	want := &dag.Page{
		URL: address, FinalURL: s.URL + "/e", Status: 200, Verdict: dag.PageLive, At: page.At, Attempts: 1,
		Hops: []string{s.URL + "/a?b=c", s.URL + "/d"}, Exempt: []string{s.host}, Text: "here is /e",
	}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestRedirectOffTheWeb: a public page that leads to what is not public. No
// request is sent there, whatever the place is called.
func TestRedirectOffTheWeb(t *testing.T) {
	for _, to := range []string{
		"http://127.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://localhost/", "http://metadata.google.internal/",
		"http://[::1]/", "http://[::ffff:169.254.169.254]/", "http://inside.example/", "https://inside.example/", "http://sometimes.example/",
		"http://www.example.com:8080/", "http://u:p@www.example.com/", "http://0x7f000001/", "http://0177.0.0.1/",
	} {
		t.Run(to, func(t *testing.T) {
			r := newInternet(t, Options{})
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", to)
				w.WriteHeader(302)
			})
			r.host("www.example.com", "93.184.216.34", s)
			r.names.answers["inside.example"] = []string{"10.0.0.1"}
			r.names.answers["sometimes.example"] = []string{"192.168.0.1", "93.184.216.34"}
			page := r.read(t, "http://www.example.com/a")
			if page.Verdict != dag.PageDead || page.Attempts != 1 || page.Status != 302 || page.NoAnswer ||
				page.FinalURL != "http://www.example.com/a" || !cmp.Equal(page.Hops, []string{"http://www.example.com/a"}) {
				t.Errorf("%+v; want it dead at once", page)
			}
			if len(s.requests()) != 1 || len(r.trap.requests()) != 0 {
				t.Errorf("%d requests to the public page, %d where it leads; want 1 and 0", len(s.requests()), len(r.trap.requests()))
			}
		})
	}
}

// TestRedirectBetweenSites: short links on two hosts that lead to one site.
func TestRedirectBetweenSites(t *testing.T) {
	r := newInternet(t, Options{})
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "www.example.com" {
			http.Redirect(w, r, "http://www.example.com/article", http.StatusMovedPermanently)
			return
		}
		_, _ = io.WriteString(w, "here")
	})
	r.host("short.example", "93.184.216.34", s)
	r.host("tiny.example", "93.184.216.35", s)
	r.host("www.example.com", "93.184.216.36", s)
	for _, link := range []string{"http://short.example/x", "http://tiny.example/y"} {
		page := r.read(t, link)
		if page.Verdict != dag.PageLive || page.FinalURL != "http://www.example.com/article" || page.URL != link {
			t.Errorf("%+v", page)
		}
	}
}

// TestRedirectBetweenSchemes: up to https and down again; nothing secret is sent
// either way.
func TestRedirectBetweenSchemes(t *testing.T) {
	step := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/1":
			http.Redirect(w, r, "https://example.com/2", http.StatusMovedPermanently)
		case r.URL.Path == "/2" && r.TLS != nil:
			http.Redirect(w, r, "http://example.com/3", http.StatusMovedPermanently)
		default:
			_, _ = io.WriteString(w, "here is "+r.URL.Path)
		}
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(step))
	t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	r := newInternet(t, Options{Roots: roots})
	r.host("example.com", "93.184.216.34", newSite(t, step))
	r.routes["93.184.216.34:443"] = secure.Listener.Addr().String()
	page := r.read(t, "http://example.com/1")
	if page.Text != "here is /3" || !cmp.Equal(page.Hops, []string{"http://example.com/1", "https://example.com/2"}) {
		t.Errorf("%+v", page)
	}
}

// TestRequest: what a server hears of us.
func TestRequest(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		if r.URL.Path == "/a" {
			http.Redirect(w, r, "/b", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "here")
	})
	for agent, want := range map[string]string{
		"":                  "penstock (+https://github.com/penstock-run/penstock)",
		"penstock/1.2.3":    "penstock/1.2.3",
		"a\r\nX-Evil: b\n ": "aX-Evil: b",
	} {
		s.log = nil
		r := newRig(t, Options{AllowHosts: []string{s.host}, UserAgent: agent})
		if page := r.read(t, s.URL+"/a"); page.Verdict != dag.PageLive {
			t.Errorf("%+v", page)
		}
		for _, got := range s.requests() {
			header := http.Header{
				"User-Agent": {want}, "Range": {"bytes=0-65535"}, "Accept-Encoding": {"identity"}, "Connection": {"close"},
				"Accept": {"text/html,application/xhtml+xml,*/*;q=0.8"},
			}
			if diff := cmp.Diff(header, got.Header); diff != "" || got.Method != "GET" || got.Host != s.host {
				t.Errorf("%s %s (-want +got)\n%s", got.Method, got.URL, diff)
			}
		}
	}
}

// TestMethod: a server that refuses HEAD is asked with GET.
func TestMethod(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(405)
			return
		}
		_, _ = io.WriteString(w, "here")
	})
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	if page := r.read(t, s.URL+"/x"); page.Verdict != dag.PageLive || len(s.requests()) != 1 {
		t.Errorf("%+v", page)
	}
}

func TestResolve(t *testing.T) {
	base, _ := url.Parse("https://www.example.com/a/b?c")
	for location, want := range map[string]string{
		"d":                        "https://www.example.com/a/d",
		"/d":                       "https://www.example.com/d",
		"//example.org":            "https://example.org",
		`/\example.org\a`:          "https://example.org/a",
		"HTTP://example.org/":      "HTTP://example.org/",
		"https:example.org":        "https:example.org",
		"?x=a/b:c":                 "https://www.example.com/a/b?x=a/b:c",
		"/%zz":                     "https://www.example.com/%25zz",
		"http://bücher.example/ü":  "http://b%C3%BCcher.example/%C3%BC",
		"/a|b?c|d":                 "https://www.example.com/a%7Cb?c%7Cd",
		"mailto:someone@there.org": "mailto:someone@there.org",
	} {
		if got, err := resolve(base, location); err != nil || got != want {
			t.Errorf("resolve(%q) = %q, %v; want %q", location, got, err, want)
		}
	}
	if got, err := resolve(base, ":80/"); err == nil {
		t.Errorf("an address without a scheme is %q", got)
	}
}
