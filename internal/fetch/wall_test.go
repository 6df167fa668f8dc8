package fetch

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// article is long enough to be no notice.
var article = "<p>" + strings.Repeat("Mehmed II besieged the city for many days. ", 50) + "</p>"

func TestWalls(t *testing.T) {
	for _, tt := range []struct {
		name    string
		status  int
		header  string // "Name: value"
		page    string
		verdict dag.PageVerdict
		why     string
	}{
		{"Cloudflare's header", 403, "cf-mitigated: challenge", "x", dag.PageBlocked, "a challenge of Cloudflare, with status 403"},
		{"the header with 200", 200, "CF-Mitigated: challenge", article, dag.PageBlocked, "a challenge of Cloudflare"},
		{"the header with 503, asked once", 503, "cf-mitigated: challenge", "x", dag.PageBlocked, "a challenge of Cloudflare, with status 503"},
		{"the header without a page", 200, "cf-mitigated: challenge", "", dag.PageBlocked, "a challenge of Cloudflare"},
		{"AWS", 202, "x-amzn-waf-action: challenge", "", dag.PageBlocked, "a challenge of AWS WAF, with status 202"},
		{"AWS, a captcha", 405, "x-amzn-waf-action: captcha", "x", dag.PageBlocked, "a challenge of AWS WAF, with status 405"},
		{"another header of theirs", 200, "cf-ray: 1", article, dag.PageLive, ""},

		{"just a moment", 200, "", htmlPage("<title>Just a moment...</title>", "Enable JavaScript and cookies to continue"), dag.PageBlocked, "a challenge: Just a moment..."},
		{"in German", 503, "", htmlPage("<title>Nur einen Moment…</title>", "x"), dag.PageBlocked, "a challenge: Nur einen Moment…, with status 503"},
		{"attention", 403, "", htmlPage("<title>Attention Required! | Cloudflare</title>", "x"), dag.PageBlocked, "a challenge: Attention Required! | Cloudflare, with status 403"},
		{"DDoS-Guard", 200, "", htmlPage("<title>DDoS-Guard</title>", "Checking your browser"), dag.PageBlocked, "a challenge: DDoS-Guard"},
		{"its script", 200, "", htmlPage("", `<script src="/.well-known/ddos-guard/js-challenge/index.js"></script>`), dag.PageBlocked, "a challenge of DDoS-Guard"},
		{"Cloudflare's script", 200, "", htmlPage("", `<script>window._cf_chl_opt={}</script>`), dag.PageBlocked, "a challenge of Cloudflare"},
		{"PerimeterX", 200, "", htmlPage("<title>x</title>", `<div id="px-captcha"></div>`), dag.PageBlocked, "a challenge of PerimeterX"},
		{"Akamai", 200, "", htmlPage("", `<div id="sec-if-cpt-container"></div>`), dag.PageBlocked, "a challenge of Akamai"},
		{"Imperva", 200, "", htmlPage("<title>Pardon Our Interruption</title>", "x"), dag.PageBlocked, "a challenge: Pardon Our Interruption"},
		{"DataDome", 200, "", htmlPage("", `<script src="https://geo.captcha-delivery.com/c.js"></script>`), dag.PageBlocked, "a challenge of DataDome"},
		{"a captcha alone", 200, "", htmlPage("<title>Shop</title>", `<p>Please prove that you are human</p><div class="g-recaptcha"></div>`), dag.PageBlocked, "a challenge: a captcha in place of the page"},
		{"after a 429", 429, "", htmlPage("<title>Just a moment...</title>", "x"), dag.PageBlocked, "a challenge: Just a moment..., with status 429"},
		{"a wall on a missing page", 404, "", htmlPage("<title>Just a moment...</title>", "x"), dag.PageDead, "status 404"},

		{"a song of that name", 200, "", htmlPage("<title>Just a Moment</title>", article), dag.PageLive, ""},
		{"about captchas", 200, "", htmlPage("<title>CAPTCHA</title>", article), dag.PageLive, ""},
		{"a form with a captcha", 200, "", htmlPage("<title>Contact</title>", `<p>Write to us</p><div class="g-recaptcha"></div>`), dag.PageLive, ""},
		{"an article with comments", 200, "", htmlPage("<title>x</title>", article[:900]+`</p><p>Are you human?</p><div class="g-recaptcha"></div>`), dag.PageLive, ""},
		{"a page that is watched", 200, "", htmlPage("<title>x</title>", `<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>words`), dag.PageLive, ""},
		{"a title that says more", 200, "", htmlPage("<title>Just a moment of your time</title>", "words"), dag.PageLive, ""},
		{"in plain text", 200, "Content-Type: text/plain", "<title>Just a moment...</title>", dag.PageLive, ""},

		{"consent", 200, "", htmlPage("<title>Before you continue to Google Search</title>", "We use cookies"), dag.PageBlocked, "a wall of consent: Before you continue to Google Search"},
		{"in German", 200, "", htmlPage("<title>Bevor Sie zu YouTube weitergehen</title>", "x"), dag.PageBlocked, "a wall of consent: Bevor Sie zu YouTube weitergehen"},
		{"an article of that name", 200, "", htmlPage("<title>Before you continue</title>", article+article), dag.PageLive, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				if name, value, ok := strings.Cut(tt.header, ": "); ok {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.page)
			})
			r := newRig(t, Options{AllowHosts: []string{s.host}})
			page := r.read(t, s.URL+"/x")
			if page.Verdict != tt.verdict || page.Why != tt.why || page.Attempts != 1 || page.NoAnswer {
				t.Errorf("%+v; want %s: %s", page, tt.verdict, tt.why)
			}
			if tt.verdict != dag.PageLive && page.Text != "" {
				t.Errorf("the wall has a text: %q", page.Text)
			}
		})
	}
}

// TestWallsByAddress: where a redirect ends tells that it is no page.
func TestWallsByAddress(t *testing.T) {
	for _, tt := range []struct {
		final   string
		verdict dag.PageVerdict
	}{
		{"http://consent.google.com/ml?continue=x", dag.PageBlocked},
		{"http://consent.yahoo.com/v2/collectConsent", dag.PageBlocked},
		{"http://guce.yahoo.com/consent", dag.PageBlocked},
		{"http://myprivacy.dpgmedia.nl/consent", dag.PageBlocked},
		{"http://www.google.com/sorry/index?continue=x", dag.PageBlocked},
		{"http://www.google.co.uk/sorry/index", dag.PageBlocked},
		{"http://www.google.com/article", dag.PageLive},
		{"http://www.example.com/sorry/index", dag.PageLive},
		{"http://www.example.com/consent", dag.PageLive},
		{"http://consentform.example.com/", dag.PageLive},
	} {
		t.Run(tt.final, func(t *testing.T) {
			r := newInternet(t, Options{})
			s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Host == "start.example" {
					http.Redirect(w, r, tt.final, http.StatusFound)
					return
				}
				_, _ = io.WriteString(w, htmlPage("<title>x</title>", article))
			})
			host, _, _ := strings.Cut(strings.TrimPrefix(tt.final, "http://"), "/")
			r.host("start.example", "93.184.216.34", s)
			r.host(host, "93.184.216.35", s)
			if page := r.read(t, "http://start.example/"); page.Verdict != tt.verdict || page.FinalURL != tt.final {
				t.Errorf("%+v; want %s", page, tt.verdict)
			}
		})
	}
}

func TestPagesThatAreNone(t *testing.T) {
	for _, tt := range []struct {
		title, heading, rest string
		want                 string // what is quoted; empty: live
	}{
		{"Page not found", "", "", "Page not found"},
		{"Page Not Found | ACME", "", "Try the search.", "Page Not Found | ACME"},
		{"ACME - Page not found", "", "", "ACME - Page not found"},
		{"404 - Page not found - ACME", "", "", "404 - Page not found - ACME"},
		{"404: Page not found", "", "", "404: Page not found"},
		{"Page not found (404)", "", "", "Page not found (404)"},
		{"404 Not Found", "404 Not Found", "nginx", "404 Not Found"},
		{"Error 404", "", "", "Error 404"},
		{"Error 404 (Not Found)!", "", "", "Error 404 (Not Found)!"},
		{"Oops! That page can’t be found.", "", "", "Oops! That page can’t be found."},
		{"Sorry, this page doesn't exist · ACME News", "", "", "Sorry, this page doesn't exist · ACME News"},
		{"ACME", "Page not found", "", "Page not found"},
		{"", "We couldn’t find that page", "", "We couldn’t find that page"},
		{"404", "Not Found", "", "404"},
		{"Not Found", "Not Found", "The requested URL was not found on this server.", "Not Found"},
		{"Seite nicht gefunden – Beispiel", "", "", "Seite nicht gefunden – Beispiel"},
		{"Page introuvable", "", "", "Page introuvable"},
		{"Erreur 404 - Page non trouvée", "", "", "Erreur 404 - Page non trouvée"},
		{"Página no encontrada", "", "", "Página no encontrada"},
		{"Pagina non trovata | Esempio", "", "", "Pagina non trovata | Esempio"},
		{"Página não encontrada", "", "", "Página não encontrada"},
		{"Pagina niet gevonden", "", "", "Pagina niet gevonden"},
		{"Страница не найдена", "", "", "Страница не найдена"},
		{"Сторінку не знайдено", "", "", "Сторінку не знайдено"},
		{"Strona nie została znaleziona", "", "", "Strona nie została znaleziona"},
		{"Sayfa bulunamadı", "", "", "Sayfa bulunamadı"},
		{"ページが見つかりません", "", "", "ページが見つかりません"},
		{"页面不存在", "", "", "页面不存在"},
		{"페이지를 찾을 수 없습니다", "", "", "페이지를 찾을 수 없습니다"},
		{"الصفحة غير موجودة", "", "", "الصفحة غير موجودة"},
		{"PAGE NOT FOUND", "", "<nav><a>" + article + "</a></nav>", "PAGE NOT FOUND"}, // a menu is no article

		{"HTTP 404 - Wikipedia", "HTTP 404", article, ""},
		{"HTTP 404 - Wikipedia", "HTTP 404", "", ""},
		{"404 – Wikipedia", "404", "Das Jahr 404", ""},
		{"404", "404", "", ""},
		{"404 Not Found - HTTP | MDN", "404 Not Found", article, ""},
		{"404 Not Found", "404 Not Found", article, ""},
		{"How to fix a 404 Page Not Found error", "", "words", ""},
		{"Page not found: what it means and how to fix it | ACME", "", "words", ""},
		{"Page not found - all about the most hated words of the web", "", "words", ""},
		{"The planet that was not found", "", "words", ""},
		{"Not Found", "A story", "words", ""},
		{"Oops", "", "words", ""},
		{"ACME - News - Page not found", "", "words", ""}, // two more than the site's name
		{"", "", "words", ""},
		{"ACME", "News", "Page not found", ""}, // in the text alone
	} {
		t.Run(tt.title+" "+tt.heading, func(t *testing.T) {
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = io.WriteString(w, htmlPage("<title>"+tt.title+"</title>", "<h1>"+tt.heading+"</h1>x"+tt.rest))
			})
			r := newRig(t, Options{AllowHosts: []string{s.host}})
			page := r.read(t, s.URL+"/x")
			if tt.want == "" {
				if page.Verdict != dag.PageLive {
					t.Errorf("%+v; want it live", page)
				}
				return
			}
			if want := "the page says that there is none: \"" + tt.want + "\""; page.Verdict != dag.PageDead || page.Why != want || page.Status != 200 {
				t.Errorf("%+v; want it dead: %s", page, want)
			}
		})
	}
}
