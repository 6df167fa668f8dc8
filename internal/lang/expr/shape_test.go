package expr

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func TestShape(t *testing.T) {
	item := dag.Name{Root: "item"}
	for _, tt := range []struct {
		src  string
		want dag.Shape
	}{
		{"item.q", dag.Shape{Name: item, Steps: []string{"q"}}},
		{"item", dag.Shape{Name: item}},
		{`item["q"]`, dag.Shape{Name: item, Steps: []string{"q"}}},
		{"artifact.verifier.status", dag.Shape{Name: dag.Name{Root: "artifact", Member: "verifier"}, Steps: []string{"status"}}},
		{"{ question = item.q, n = item.n + 1 }", dag.Shape{Members: []dag.MemberShape{
			{Name: "n"}, {Name: "question", Shape: dag.Shape{Name: item, Steps: []string{"q"}}},
		}}},
		{"item.w[0]", dag.Shape{}},
		{"lower(item.q)", dag.Shape{}},
		{`"${item.q}!"`, dag.Shape{}},
		{`item.ok ? item.q : item.a`, dag.Shape{}},
		{`"a"`, dag.Shape{}},
		{`get(item, "q", "")`, dag.Shape{}},
	} {
		if diff := cmp.Diff(tt.want, dag.ShapeOf(compile(t, tt.src, WantDocument))); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.src, diff)
		}
	}
}
