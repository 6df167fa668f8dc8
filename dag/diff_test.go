package dag

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What a pipeline file cannot easily vary alone, on graphs built by hand.
func TestDiffOfAttributes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*build, *Stage)
		want   Changes
	}{
		"nothing": {func(*build, *Stage) {}, Changes{}},
		"samples": {func(_ *build, s *Stage) { s.Samples = 3 },
			Changes{Stages: []Change{{Name: "crafter", How: Changed, Attributes: []Attribute{{Name: "samples", New: "3"}}}}}},
		"findings": {func(_ *build, s *Stage) { s.Findings = &FindingMap{Codes: map[string]Code{"thin": "BAD"}} },
			Changes{Stages: []Change{{Name: "crafter", How: Changed, Attributes: []Attribute{{Name: "findings.codes.thin", New: "BAD"}}}}}},
		"reads": {func(_ *build, s *Stage) { s.ReadsCorpus = true },
			Changes{Stages: []Change{{Name: "crafter", How: Changed, Attributes: []Attribute{{Name: "reads", New: "true"}}}}}},
		"shared counters": {func(b *build, _ *Stage) {
			b.Routes[2].From = append(b.Routes[2].From, b.Stages[0])
		}, Changes{Routes: []WayChange{{Stage: "verifier", When: "`max` is counted over", Old: "stage.verifier", New: "stage.topic_miner, stage.verifier"}}}},
		"a rule": {func(b *build, s *Stage) {
			s.Decide = &Decide{Rules: []DecideRule{{Reason: "else", Outcome: "ok"}}}
		}, Changes{Stages: []Change{{Name: "crafter", How: Changed, Attributes: []Attribute{{Name: "decide.else.outcome", New: `"ok"`}}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			was, is := full(), full()
			c.change(is, is.Stages[1])
			if diff := cmp.Diff(&c.want, Diff(was.Graph, is.Graph)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompareLines(t *testing.T) {
	for _, c := range []struct{ name, was, is, want string }{
		{"a line in the middle", "a\nb\nc\nd\n", "a\nb\nx\nd\n", "+1 -1 @@ -2 +2 @@| b|-c|+x| d|"},
		{"two places", "a\nb\nc\nd\ne\n", "x\nb\nc\nd\ny\n", "+2 -2 @@ -1 +1 @@|-a|+x| b|@@ -4 +4 @@| d|-e|+y|"},
		{"all new", "a\n", "b\nc\n", "+2 -1 @@ -1 +1 @@|-a|+b|+c|"},
		{"only the line feed", "a\nb", "a\nb\n", "+1 -1 @@ -1 +1 @@| a|-b (no line feed at the end)|+b|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := compareLines(c.was, c.is)
			got := fmt.Sprintf("+%d -%d %s", l.Added, l.Removed, strings.ReplaceAll(l.Unified, "\n", "|"))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The edits lead from one text to the other, and no line that both have in the
// same place is touched.
func TestEditsLeadFromOneTextToTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 1, 12)
		old, new := lines.Draw(t, "old"), lines.Draw(t, "new")
		var was, is []string
		for _, e := range editsOf(old, new) {
			if e.op != '+' {
				was = append(was, e.line)
			}
			if e.op != '-' {
				is = append(is, e.line)
			}
		}
		if cmp.Diff(old, was) != "" || cmp.Diff(new, is) != "" {
			t.Fatalf("from %q to %q, not from %q to %q", was, is, old, new)
		}
	})
}

func TestCompareDocs(t *testing.T) {
	for _, c := range []struct {
		was, is string
		want    []PathChange
	}{
		{`{"a":1}`, `{"a":1}`, nil},
		{`{"a":1,"b":{"c":[1]}}`, `{"b":{"c":[1,2]},"d":null}`, []PathChange{{"/b/c", "[1]", "[1,2]"}, {"/d", "", "null"}, {"/a", "1", ""}}},
		{`[{"a":1},{"a":2}]`, `[{"a":1}]`, []PathChange{{"/1", `{"a":2}`, ""}}},
		{`{"a/b":1}`, `{"a/b":2}`, []PathChange{{"/a~1b", "1", "2"}}},
		{`true`, `{"a":1}`, []PathChange{{"", "true", `{"a":1}`}}},
	} {
		if diff := cmp.Diff(c.want, compareDocs([]byte(c.was), []byte(c.is))); diff != "" {
			t.Errorf("%s → %s (-want +got):\n%s", c.was, c.is, diff)
		}
	}
}

// listedCond is a condition whose cases can be listed.
type listedCond struct {
	*fake
	path   string
	values []string // all that path can be
	holds  []string // those for which it holds
}

func (c *listedCond) Choice() *Choice {
	return &Choice{Paths: []ChoicePath{{c.path, c.values}}, Holds: func(value func(string) string) (bool, bool) {
		for _, v := range c.holds {
			if v == value(c.path) {
				return true, true
			}
		}
		return false, true
	}}
}

// The table of routes tells of each value where it went and goes, and of no
// value that goes where it went.
func TestCasesOfARoute(t *testing.T) {
	stages := []*Stage{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	domain := []string{`"x"`, `"y"`, `"z"`, `null`}
	rapid.Check(t, func(t *rapid.T) {
		arm := func(label string) (*Arm, map[string]string) {
			a := &Arm{Kind: ArmWhen, Else: &Arm{Kind: ArmStage, Stage: stages[2]}}
			goes := map[string]string{}
			for i := range rapid.IntRange(1, 3).Draw(t, label) {
				holds := rapid.SliceOfDistinct(rapid.SampledFrom(domain), rapid.ID).Draw(t, "holds")
				to := rapid.SampledFrom(stages).Draw(t, "to")
				cond := &listedCond{fake: &fake{src: fmt.Sprint(label, i, holds)}, path: "item.v", values: domain, holds: holds}
				a.Branches = append(a.Branches, Branch{If: cond, Arm: &Arm{Kind: ArmStage, Stage: to}})
				for _, v := range holds {
					if goes[v] == "" {
						goes[v] = "stage." + to.Name
					}
				}
			}
			for _, v := range domain {
				if goes[v] == "" {
					goes[v] = "stage.c"
				}
			}
			return a, goes
		}
		g := &Graph{}
		was, went := arm("was")
		is, goes := arm("is")
		told := map[string]bool{}
		for _, row := range compareArms(way{g, was}, way{g, is}) {
			for _, v := range domain {
				if row.When == "" || strings.Contains(row.When, v) {
					told[v] = true
					if row.Old != went[v] || row.New != goes[v] {
						t.Errorf("%s: %q says %s → %s, it is %s → %s", v, row.When, row.Old, row.New, went[v], goes[v])
					}
				}
			}
		}
		for _, v := range domain {
			if told[v] != (went[v] != goes[v]) {
				t.Errorf("%s: told %v, it is %s → %s", v, told[v], went[v], goes[v])
			}
		}
	})
}
