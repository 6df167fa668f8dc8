package lang

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func loadDir(t testing.TB, dir string, opts Options) (*dag.Graph, *Files, string) {
	t.Helper()
	opts.FS = os.DirFS(dir)
	if opts.Describe == nil {
		opts.Describe = describe
	}
	graph, files, diags := Load(opts)
	return graph, files, render(t, files, diags)
}

func environ(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestQuizPipeline(t *testing.T) {
	g, files, said := loadDir(t, "testdata/trivia", Options{Version: "0.1.0", Environ: environ("WRITER_KEY", "secret-w"), Live: false, Tests: true})
	if g == nil {
		t.Fatal(said)
	}
	if len(g.Unsupported) > 0 {
		t.Errorf("unsupported: %v", g.Unsupported)
	}
	if g.First == nil || g.First.Name != "topic_miner" {
		t.Errorf("items start at %v, want topic_miner", g.First)
	}
	if g.LongestTrail != 5 { // miner, crafter, verifier, repairer, verifier
		t.Errorf("the longest trail is %d, want 5", g.LongestTrail)
	}
	writer := g.Providers[0]
	if diff := cmp.Diff(map[string]string{"api_key": "secret-w", "headers.authorization": "Bearer secret-w"}, writer.Secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if got, want := string(writer.Config.Bytes), `{"headers":{"x-team":"quiz"},"temperature":0.7}`; got != want {
		t.Errorf("config is %s, want %s", got, want)
	}
	if got, want := string(g.Stages[0].Config.Bytes), `{"reasks":2,"template":"Prompt: topics.\n"}`; got != want {
		t.Errorf("config is %s, want %s", got, want)
	}
	if len(g.Providers[1].Secrets) != 0 {
		t.Errorf("a key that is not set is %q", g.Providers[1].Secrets)
	}
	if diff := cmp.Diff([]string{
		"prompts/card.md", "prompts/repair.md", "prompts/topics.md", "prompts/verify.md",
		"schemas/bucket.json", "schemas/card.json", "schemas/report.json", "schemas/topics.json",
	}, files.Read); diff != "" {
		t.Errorf("files that were read (-want +got):\n%s", diff)
	}
	repair := g.RouteFrom(g.Stage("verifier")).On["repair"]
	if repair.Max != 1 || !repair.Bounded || repair.Exhausted.Status != "repair" {
		t.Errorf("the repair edge is %+v", repair)
	}
	if s := g.Stage("verifier"); !s.ForwardItem || s.Outcome == nil || s.Input == nil {
		t.Errorf("the verifier forwards the item by an outcome and an input of its own: %+v", s)
	}
	if c := g.Gate.Checks[0]; !c.Ends || c.Schema == nil || c.Triage != dag.Reject {
		t.Errorf("a schema check ends its phase and rejects: %+v", c)
	}
	if at := g.Gate.Checks[4].Args["at"]; at == nil {
		t.Error("the argument `at` of fresh is missing")
	} else if s, err := at.Text(nil); err != nil || s != "card" {
		t.Errorf("at is %q, %v", s, err)
	}
	if len(files.Tests) != 1 || len(files.Tests[0].Given.Docs) != 1 || files.Tests[0].Graph != g || files.Tests[0].Mocks[0].Stage.Name != "verifier" {
		t.Errorf("tests are %+v", files.Tests)
	}
}

func TestIngestPipeline(t *testing.T) {
	g, files, said := loadDir(t, "testdata/ingest", Options{})
	want, err := os.ReadFile("testdata/ingest/want.txt")
	if *update {
		err = os.WriteFile("testdata/ingest/want.txt", []byte(said), 0o644)
		want = []byte(said)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), said); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if g == nil {
		t.FailNow()
	}
	var what []string
	for _, u := range g.Unsupported {
		what = append(what, u.What)
	}
	if diff := cmp.Diff([]string{
		"a mode that is decided at the start of a run", "a plugin that asks the corpus", "batch", "a plugin that fetches",
		"a plugin that fetches", "ask", `corpus "markdown"`, "review", "skipped",
	}, what); diff != "" {
		t.Errorf("unsupported (-want +got):\n%s", diff)
	}
	if rules := g.Stage("prefetch_band").Decide; len(rules.Rules) != 4 || rules.Rules[3].Reason != "else" || len(rules.Findings) != 1 || rules.Findings[0].Figure == nil {
		t.Errorf("rules are %+v", rules)
	}
	if len(files.Sources) != 1 {
		t.Errorf("sources are %v", files.Sources)
	}
}

// TestItemAfterFanOut: the element's type comes from the part of the schema.
func TestItemAfterFanOut(t *testing.T) {
	src, err := os.ReadFile("testdata/trivia/pipeline.hcl")
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	addTree(t, fsys, "testdata/trivia", func(name string) string { return name })
	fsys["pipeline.hcl"] = &fstest.MapFile{Data: []byte(strings.Replace(string(src), "item.cat)", "item.kat)", 1))}
	_, files, diags := Load(Options{FS: fsys, Describe: describe})
	said := render(t, files, diags)
	if !strings.Contains(said, "error: Unknown attribute\n  pipeline.hcl:85,42, in route \"category\":\n") || !strings.Contains(said, `Did you mean "cat"?`) {
		t.Error(said)
	}
}
