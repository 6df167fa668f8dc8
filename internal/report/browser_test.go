package report

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/penstock-run/penstock/internal/engine"
)

// browser is a Chromium to open pages in. PENSTOCK_CHROMIUM names one that must be
// there.
func browser(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("PENSTOCK_CHROMIUM"); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			t.Fatalf("PENSTOCK_CHROMIUM: %v", err)
		}
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium here to open a page in: apt-get install chromium, or name one in PENSTOCK_CHROMIUM")
	return ""
}

// opened is a page as a browser has it in the end.
type opened struct {
	root    *html.Node
	console []string // what it complained of
}

// open opens a page in a browser that knows no network.
func open(t *testing.T, chromium string, page []byte, fragment string, flags ...string) *opened {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "report.html")
	if err := os.WriteFile(path, page, 0o644); err != nil {
		t.Fatal(err)
	}
	address := url.URL{Scheme: "file", Path: path}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--disable-quic", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir=" + filepath.Join(dir, "profile"),
		"--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom",
	}, flags...)
	cmd := exec.CommandContext(ctx, chromium, append(args, address.String()+fragment)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", chromium, err, errs.String())
	}
	root, err := html.ParseWithOptions(&out, html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	o := &opened{root: root}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "CONSOLE") {
			o.console = append(o.console, line)
		}
	}
	return o
}

// find lists elements, in their order, by their tag, and by a class or an id that
// begins with a point or a hash.
func (o *opened) find(tag, mark string) (found []*html.Node) {
	for n := range o.root.Descendants() {
		if n.Type != html.ElementNode || tag != "" && n.Data != tag {
			continue
		}
		switch {
		case mark == "",
			mark[0] == '#' && attribute(n, "id") == mark[1:],
			mark[0] == '.' && strings.Contains(" "+attribute(n, "class")+" ", " "+mark[1:]+" "):
			found = append(found, n)
		}
	}
	return found
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// one is the text of the only element of this mark.
func (o *opened) one(t *testing.T, tag, mark string) string {
	t.Helper()
	found := o.find(tag, mark)
	if len(found) != 1 {
		t.Fatalf("the page has %d elements %s%s, not one", len(found), tag, mark)
	}
	return text(found[0])
}

// calm fails where the browser complained, or something of an item was obeyed.
func (o *opened) calm(t *testing.T) {
	t.Helper()
	for _, line := range o.console {
		t.Errorf("the browser complains: %s", line)
	}
	for _, body := range o.find("body", "") {
		if has(body, "data-pwned") {
			t.Error("a text of an item was executed")
		}
	}
	for _, tag := range []string{"img", "b#pwned", "iframe", "object", "embed", "link", "base", "form"} {
		name, id, _ := strings.Cut(tag, "#")
		mark := ""
		if id != "" {
			mark = "#" + id
		}
		if n := len(o.find(name, mark)); n > 0 {
			t.Errorf("the page has %d elements %s: a text was taken for markup", n, tag)
		}
	}
}

// TestHostileInBrowser opens an item whose texts want to be more than that, and
// holds the command to copy to what a shell reads of it.
func TestHostileInBrowser(t *testing.T) {
	chromium := browser(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	r, items := hostileReport()
	key := strings.ReplaceAll(strings.Join(hostile, " "), "\x00", "") // no command line holds one
	items = renamed(items, key)
	o := open(t, chromium, pageOf(t, r, items, Options{}), string(fragment("item", key)))
	o.calm(t)
	ways := o.find("div", ".way")
	if len(ways) != 1 {
		t.Fatalf("%d items are open, not one", len(ways))
	}
	shown := text(ways[0])
	for _, want := range []string{plain(hostile[0]), "by route " + plain(hostile[0]), "figure", "penstock why ", "1,234 tokens", "$0.0123", "1.0 s"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the item does not show %q:\n%s", want, shown)
		}
	}
	if shown != plain(shown) {
		t.Error("the item shows what steers a text")
	}
	command := text(o.find("div", ".cmd")[0].FirstChild)
	cmd := exec.Command(bash, "-c", `penstock() { printf '%s' "$2"; }; `+command)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	if got, err := cmd.Output(); err != nil || string(got) != key {
		t.Errorf("a shell reads of %s the item %q, not %q (%v)", command, got, key, err)
	}
}

// renamed gives the first item another key.
func renamed(items Items, key string) Items {
	return func(yield func(*engine.ReportItem) error) error {
		first := true
		return items(func(it *engine.ReportItem) error {
			if first {
				first, it.Item = false, key
			}
			return yield(it)
		})
	}
}

// TestManyInBrowser searches and turns pages among many items.
func TestManyInBrowser(t *testing.T) {
	chromium := browser(t)
	r, items := manyItems(10_000)
	page := pageOf(t, r, items, Options{})
	for fragment, want := range map[string]struct{ found, where, first string }{
		"#q=item-00123":     {"10 items", "1–10 of 10", "item-001230"},
		"#code=R_TENTH":     {"999 items", "1–50 of 999", "item-000010"},
		"#item=item-009999": {"10,000 items", "9,951–10,000 of 10,000", "item-009950"},
	} {
		o := open(t, chromium, page, fragment)
		o.calm(t)
		got := struct{ found, where, first string }{o.one(t, "p", "#found"), o.one(t, "span", "#where"), ""}
		if rows := o.find("details", ".item"); len(rows) > 0 {
			got.first = text(rows[0].FirstChild.FirstChild)
		}
		if got != want {
			t.Errorf("%s shows %q, not %q", fragment, got, want)
		}
		if strings.HasPrefix(fragment, "#item=") {
			if way := o.one(t, "div", ".way"); !strings.Contains(way, "16 checks held or did not apply") || !strings.Contains(way, "pass 2") {
				t.Errorf("the opened item shows %s", way)
			}
		}
	}
}

// TestPolicyInBrowser: even a script that got into the page would not be executed.
func TestPolicyInBrowser(t *testing.T) {
	chromium := browser(t)
	r, items := manyItems(3)
	intruders := `<main><script>document.body.dataset.pwned = 1</script><img src="data:," onerror="document.body.dataset.pwned = 1">`
	o := open(t, chromium, bytes.Replace(pageOf(t, r, items, Options{}), []byte("<main>"), []byte(intruders), 1), "")
	if has(o.find("body", "")[0], "data-pwned") {
		t.Error("an intruder was executed")
	}
	if len(o.console) == 0 {
		t.Error("the intruders met no policy")
	}
	if found := o.one(t, "p", "#found"); found != "3 items" {
		t.Errorf("the page's own script says %q", found)
	}
}
