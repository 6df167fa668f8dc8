package expr

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func TestCover(t *testing.T) {
	for _, tt := range []struct {
		name  string
		conds []string
		want  Coverage
	}{
		{"an enum, each word", []string{`item.cat == "music"`, `item.cat == "history"`, `item.cat == "film-tv"`}, Coverage{Complete: true, Always: true}},
		{"a word is missing", []string{`item.cat == "music"`, `item.cat == "film-tv"`}, Coverage{Missing: `item.cat = "history"`}},
		{"contains and its opposite", []string{`contains(local.mme, item.cat)`, `!contains(local.mme, item.cat)`}, Coverage{Complete: true, Always: true}},
		{"a bool", []string{`item.ok`, `!item.ok`}, Coverage{Complete: true, Always: true}},
		{"an optional enum needs null", []string{`item.level == "easy"`, `item.level == "hard"`}, Coverage{Missing: `item.level = null`}},
		{"null said", []string{`item.level == null`, `item.level == "easy" || item.level == "hard"`}, Coverage{Complete: true, Always: true}},
		{"two values", []string{`item.ok && item.cat == "music"`, `!item.ok`, `item.cat != "music"`}, Coverage{Complete: true, Always: true}},
		{"two values, one case out", []string{`item.ok && item.cat == "music"`, `!item.ok && item.cat != "music"`, `item.ok && item.cat == "history"`},
			Coverage{Missing: `item.ok = true, item.cat = "film-tv"`}},
		{"an arm that comes too late", []string{`item.cat != "music"`, `item.cat == "history"`, `item.cat == "music"`}, Coverage{Complete: true, Always: true, Dead: []int{1}}},
		{"false", []string{`item.ok`, `false`, `!item.ok`}, Coverage{Complete: true, Always: true, Dead: []int{1}}},
		{"true ends it", []string{`true`, `item.ok`}, Coverage{Complete: true, Always: true, Dead: []int{1}}},
		{"a text is no enum", []string{`item.q == "a"`, `item.q != "a"`}, Coverage{Missing: "item.q is neither an enum nor a bool by its schema"}},
		{"a text can still be dead", []string{`item.q == "a"`, `item.q == "a"`}, Coverage{Missing: "item.q is neither an enum nor a bool by its schema", Dead: []int{1}}},
		{"switched off by a local", []string{`local.limit > 1 && item.ok`, `item.ok`, `!item.ok`}, Coverage{Complete: true, Always: true}},
		{"switched on by a local", []string{`local.limit < 1`, `item.ok`}, Coverage{Complete: true}},
		{"switched on by a local, covered without", []string{`local.limit < 1`, `item.ok`, `!item.ok`}, Coverage{Complete: true, Always: true}},
		{"switched by what is written", []string{`1 > 2 && item.ok`, `item.ok`, `!item.ok`}, Coverage{Complete: true, Always: true, Dead: []int{0}}},
		{"null or not", []string{`artifact.repairer == null`, `artifact.repairer != null`}, Coverage{Complete: true, Always: true}},
		{"null or not, one out", []string{`artifact.repairer == null`}, Coverage{Missing: "artifact.repairer = anything else"}},
		{"a bool that may be null", []string{`artifact.repairer != null && artifact.repairer.ok`, `artifact.repairer == null`}, Coverage{Missing: "artifact.repairer = anything else, artifact.repairer.ok = false"}},
		{"not of the kind", []string{`item.ok`, `item.n > 1`}, Coverage{Missing: "the condition item.n > 1 is not built of == and != with constants, contains(constants, …), bools, !, && and || alone"}},
		{"covered without the odd one", []string{`item.n > 1`, `item.ok`, `!item.ok`}, Coverage{Complete: true, Always: true}},
		{"the odd one comes too late", []string{`item.ok`, `!item.ok`, `item.n > 1`}, Coverage{Complete: true, Always: true, Dead: []int{2}}},
		{"bools compared", []string{`contains(local.mme, item.cat) == item.ok`, `contains(local.mme, item.cat) != item.ok`}, Coverage{Complete: true, Always: true}},
		{"none", nil, Coverage{Missing: "no condition holds"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var conds []dag.Expr
			for _, src := range tt.conds {
				conds = append(conds, compile(t, src, WantBool))
			}
			if diff := cmp.Diff(tt.want, Cover(conds)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCoverBoundsItsWork(t *testing.T) {
	env := cardEnv()
	props := map[string]*Type{}
	src := "true"
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		props[name] = Enum("1", "2", "3", "4")
		src = "item." + name + ` == "1" && ` + src
	}
	env.Names[dag.Name{Root: "item"}] = Object(props)
	x, diags := Compile(parse(src), env, WantBool)
	if diags.HasErrors() {
		t.Fatal(complaints(diags))
	}
	want := Coverage{Missing: "the conditions read so many values that there are more than 4096 combinations; an else is needed"}
	if diff := cmp.Diff(want, Cover([]dag.Expr{x})); diff != "" {
		t.Error(diff)
	}
}
