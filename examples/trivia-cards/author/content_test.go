package main

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/schema"
	"github.com/penstock-run/penstock/internal/text"
	"github.com/penstock-run/penstock/internal/weburl"
)

// root is the repository's, from this package.
const root = "../../.."

func loadScript(t *testing.T) *Script {
	t.Helper()
	s, err := readScript()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func loadSchema(t *testing.T, name string) *schema.Schema {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../schemas", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(name+".json", raw)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func canonical(t *testing.T, doc any) []byte {
	t.Helper()
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	c, err := canon.Canonical(nil, raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// candidates are those that become items.
func candidates(s *Script) []*Candidate {
	var all []*Candidate
	for _, b := range s.Batches {
		if b.Expect == nil {
			all = append(all, b.Candidates...)
		}
	}
	return all
}

func TestBucketsAreThoseOfTheScript(t *testing.T) {
	raw, err := os.ReadFile("../buckets.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var got []bucket
	for row := range strings.Lines(string(raw)) {
		var b bucket
		if err := json.Unmarshal([]byte(row), &b, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		got = append(got, b)
	}
	var want []bucket
	cats, diffs := map[string]bool{}, map[string]bool{}
	for _, b := range loadScript(t).Batches {
		want = append(want, b.bucket())
		cats[b.Cat], diffs[b.Diff] = true, true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("buckets.jsonl (-script +file):\n%s", diff)
	}
	if len(got) != 14 || len(cats) != 12 || len(diffs) != 3 {
		t.Errorf("%d batches of %d categories and %d difficulties; want 14 of 12 and 3", len(got), len(cats), len(diffs))
	}
}

func TestBatches(t *testing.T) {
	s := loadScript(t)
	fit := loadSchema(t, "topics")
	ids := map[string]string{}
	var sizes []int
	for _, b := range s.Batches {
		sizes = append(sizes, len(b.Candidates))
		if misfit := fit.Validate(canonical(t, b.topics())); misfit != nil {
			t.Errorf("%s: %v", b.key(), misfit)
		}
		for _, c := range b.Candidates {
			if other, twice := ids[c.topicID()]; twice {
				t.Errorf("%q and %q are one topic", c.Title, other)
			}
			ids[c.topicID()] = c.Title
		}
	}
	want := append(slices.Repeat([]int{5}, 13), 4)
	if !slices.Equal(sizes, want) {
		t.Errorf("sizes of the batches %v; want %v", sizes, want)
	}
}

func TestTopicIdentity(t *testing.T) {
	for _, title := range []string{"Fall of Constantinople", "fall of CONSTANTINOPLE!"} {
		if got := topicID("history", title); got != "t-b0d720a63c00" {
			t.Errorf("topicID(history, %q) = %s; want t-b0d720a63c00", title, got)
		}
	}
}

func TestDocumentsFitTheirSchemas(t *testing.T) {
	cards, reports := loadSchema(t, "card"), loadSchema(t, "report")
	for _, c := range candidates(loadScript(t)) {
		if misfit := cards.Validate(canonical(t, c.draft())); misfit != nil {
			t.Errorf("%s: draft: %v", c.Title, misfit)
		}
		for _, v := range []*Verdict{c.Report, c.Rereport} {
			if v == nil {
				continue
			}
			if misfit := reports.Validate(canonical(t, v.report())); misfit != nil {
				t.Errorf("%s: report: %v", c.Title, misfit)
			}
			if len(v.Tried) < 2 {
				t.Errorf("%s: %d attempts to disprove; the prompt asks for two", c.Title, len(v.Tried))
			}
		}
		if c.Repaired != nil {
			if misfit := cards.Validate(canonical(t, c.repaired())); misfit != nil {
				t.Errorf("%s: repaired: %v", c.Title, misfit)
			}
		}
	}
}

// An attempt that is asked again must really not do.
func TestAttemptsDoNotFit(t *testing.T) {
	fits := map[string]*schema.Schema{"crafter": loadSchema(t, "card"), "verifier": loadSchema(t, "report")}
	fits["mme_crafter"] = fits["crafter"]
	l, err := loadScript(t).lines()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, play := range l {
		for _, a := range play.answers[:len(play.answers)-1] {
			checked++
			raw, err := canon.Canonical(nil, []byte(a.text))
			if err == nil && fits[play.stage].Validate(raw) == nil {
				t.Errorf("%s, %s: an attempt fits the schema: %s", play.stage, play.note, a.text)
			}
		}
	}
	if checked < 4 {
		t.Errorf("%d attempts checked; the script has more", checked)
	}
}

// findings are the codes that the gate's rules give a card and its report, in
// the gate's order: worked out anew from the rules, not by the gate.
func findings(card card, report report, topic topic, pages map[string]completion.RecordedPage, accepted []card) []string {
	if len(report.Codes) > 0 || !report.UniqueAnswer || report.Disproof.Found || card.TopicID != topic.TopicID {
		return []string{"R_SCHEMA"}
	}
	var codes []string
	if tooClose(append([]string{card.A}, card.W...)) {
		codes = append(codes, "R_CHOICES")
	}
	if text.Leak(card.A, card.Q) {
		codes = append(codes, "R_ANSWER_LEAK")
	}
	if n := text.Words(card.X); n < 1 || n > 20 {
		codes = append(codes, "R_EXPLAINER_LENGTH")
	}
	if ages.MatchString(card.Q) || ages.MatchString(card.X) {
		codes = append(codes, "R_UNSTABLE")
	}
	var urls []string
	for _, s := range report.Sources {
		urls = append(urls, s.URL)
	}
	switch {
	case len(urls) < 2:
		codes = append(codes, "R_UNPROVABLE")
	case domains(urls) < 2:
		codes = append(codes, "R_SRC_LAUNDER")
	}
	if codes == nil {
		codes = afterReading(urls, pages)
	}
	if codes != nil {
		return codes
	}
	return duplicates(card, accepted)
}

// ages is enough of the rules about language that ages for the texts of this script.
var ages = regexp.MustCompile(`(?i)\b(currently|presently|nowadays|today|as of|so far|recent|recently|latest|upcoming)\b`)

// afterReading are the codes of two sources or more of two domains or more, now that
// their pages were read.
func afterReading(urls []string, pages map[string]completion.RecordedPage) []string {
	var final []string
	for _, url := range urls {
		p := pages[url].Page
		if p.Verdict != dag.PageLive {
			return []string{"R_SRC_DEAD"}
		}
		final = append(final, p.FinalURL)
	}
	if domains(final) < 2 {
		return []string{"R_SRC_LAUNDER"}
	}
	return nil
}

// domains counts the registrable domains of addresses.
func domains(urls []string) int {
	all := map[string]bool{}
	for _, url := range urls {
		domain, err := weburl.Domain(url)
		if err != nil {
			panic(err) // the script has none without
		}
		all[domain] = true
	}
	return len(all)
}

// duplicates are the codes of a card beside those that were accepted before it.
func duplicates(c card, accepted []card) []string {
	near := false
	for _, other := range accepted {
		if text.Fingerprint(c.Q) == text.Fingerprint(other.Q) {
			return []string{"R_DUP_EXACT"}
		}
		near = near || c.Cat == other.Cat && alike(c.Q, other.Q)
	}
	if near {
		return []string{"R_DUP_NEAR"}
	}
	return nil
}

// alike tells whether 85 of a hundred words of two questions are the same.
func alike(a, b string) bool {
	in, both := map[string]bool{}, 0
	for _, word := range strings.Fields(text.Normalize(a)) {
		in[word] = true
	}
	for _, word := range slices.Compact(slices.Sorted(slices.Values(strings.Fields(text.Normalize(b))))) {
		if in[word] {
			both++
		}
		in[word] = true
	}
	return 100*both >= 85*len(in)
}

func tooClose(choices []string) bool {
	for i, a := range choices {
		for _, b := range choices[:i] {
			if text.Levenshtein(text.Choice(a), text.Choice(b)) < 3 {
				return true
			}
		}
	}
	return false
}

func TestEndsFollowFromTheRules(t *testing.T) {
	s := loadScript(t)
	pages := pagesByURL(t, s)
	var accepted []card
	for _, c := range candidates(s) {
		want, way := c.end(), c.way()
		if way[len(way)-1] != "gate" {
			if want.End == "accepted" {
				t.Errorf("%s is to be accepted, but never comes to the gate: %v", c.Title, way)
			}
			continue
		}
		final, report := c.draft(), c.Report
		if c.Rereport != nil {
			final, report = c.repaired(), c.Rereport
		}
		got := findings(final, report.report(), c.topic(), pages, accepted)
		if diff := cmp.Diff(want.Codes, got); diff != "" {
			t.Errorf("%s (-script +rules):\n%s", c.Title, diff)
		}
		if end := map[bool]string{true: "accepted", false: "rejected"}[got == nil]; end != want.End {
			t.Errorf("%s ends %s by the rules, %s by the script", c.Title, end, want.End)
		}
		if got == nil {
			accepted = append(accepted, final)
		}
	}
	if len(accepted) != 41 {
		t.Errorf("%d cards are accepted; want 41", len(accepted))
	}
}

// A stop by a route carries the verifier's last word.
func TestStopsFollowFromTheReports(t *testing.T) {
	for _, c := range candidates(loadScript(t)) {
		last := c.Report
		if c.Rereport != nil {
			last = c.Rereport
		}
		want := ""
		switch {
		case last == nil || last.Status == "":
		case last.Status != "repair":
			want = last.Status
		case c.Rereport != nil:
			want = "repair"
		}
		if got := c.end().Status; got != want {
			t.Errorf("%s stops with status %q by the script, %q by its reports", c.Title, got, want)
		}
	}
}

// A repair changes what was named, but for the two that are there to fail.
func TestRepairsStayInScope(t *testing.T) {
	for _, c := range candidates(loadScript(t)) {
		if c.Repaired == nil {
			continue
		}
		before, after := c.draft(), c.repaired()
		var changed []string
		for field, same := range map[string]bool{"q": before.Q == after.Q, "w": slices.Equal(before.W, after.W), "x": before.X == after.X} {
			if !same {
				changed = append(changed, field)
			}
		}
		slices.Sort(changed)
		named := slices.Sorted(slices.Values(c.Report.RepairFields))
		outside := slices.ContainsFunc(changed, func(f string) bool { return !slices.Contains(named, f) })
		if masked := c.end().Cause == "E_MASK"; masked != (outside || len(changed) == 0) {
			t.Errorf("%s: %v named, %v changed; by the script the mask refuses it: %v", c.Title, named, changed, masked)
		}
	}
}

// What the README promises: each thing that can happen, happens.
func TestEverythingHappens(t *testing.T) {
	got := map[string]int{}
	for _, c := range candidates(loadScript(t)) {
		e := c.end()
		got[strings.Join(c.way(), " ")+" "+e.End]++
		for _, code := range e.Codes {
			got[code]++
		}
		got[e.Cause]++
		got[e.Status]++
	}
	for _, want := range []string{
		"R_SCHEMA", "R_CHOICES", "R_ANSWER_LEAK", "R_EXPLAINER_LENGTH", "R_UNSTABLE", "R_UNPROVABLE", "R_SRC_LAUNDER", "R_SRC_DEAD", "R_DUP_EXACT", "R_DUP_NEAR",
		"E_OUTPUT", "E_REFUSED", "E_TRUNCATED", "E_MASK",
		"repair", "reject", "abstain",
		"crafter verifier gate accepted", "mme_crafter verifier gate accepted",
		"crafter verifier repairer verifier gate accepted", "mme_crafter verifier repairer verifier gate accepted",
		"crafter verifier repairer verifier failed", "mme_crafter verifier repairer verifier rejected",
		"crafter verifier repairer failed", "mme_crafter verifier (repairer) failed", "crafter failed", "mme_crafter failed",
	} {
		if got[want] == 0 {
			t.Errorf("no candidate shows %s", want)
		}
	}
}

// Sources are pages of their own, and the texts are in good order.
func TestTexts(t *testing.T) {
	for _, c := range candidates(loadScript(t)) {
		fields := append([]string{c.Title, c.Angle, c.Draft.Q, c.Draft.A, c.Draft.X}, c.Draft.W...)
		for _, v := range []*Verdict{c.Report, c.Rereport} {
			if v == nil {
				continue
			}
			for _, s := range v.Sources {
				u, err := url.Parse(s[0])
				if err != nil || u.Scheme != "https" || u.Path == "" || u.Path == "/" {
					t.Errorf("%s: %q is no page", c.Title, s[0])
				}
				fields = append(fields, s[1])
			}
			fields = append(fields, v.Claim)
			fields = append(fields, v.Tried...)
		}
		for _, f := range fields {
			if f == "" || f != strings.Join(strings.Fields(f), " ") || strings.ContainsFunc(f, unicode.IsControl) {
				t.Errorf("%s: %q has no text, or space that does not belong there", c.Title, f)
			}
		}
		if !strings.HasSuffix(c.Draft.Q, "?") {
			t.Errorf("%s: %q is no question", c.Title, c.Draft.Q)
		}
	}
}

func TestReadme(t *testing.T) {
	raw, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	s := loadScript(t)
	for what, want := range map[string]string{"table": s.table(), "tally": s.tallyLine()} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the README does not hold the %s of the script; `go run ./examples/trivia-cards/author -table` prints it:\n%s", what, want)
		}
	}
}
