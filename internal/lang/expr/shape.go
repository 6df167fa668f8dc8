package expr

import "github.com/penstock-run/penstock/dag"

var _ dag.Shaped = (*compiled)(nil)

// Shape tells a plain path, and an object of those.
func (x *compiled) Shape() dag.Shape { return shapeOf(x.plan) }

func shapeOf(p plan) dag.Shape {
	switch p := p.(type) {
	case *pathPlan:
		out := dag.Shape{Name: p.n.p.name}
		for _, s := range p.n.p.steps {
			if s.isIndex || s.either {
				return dag.Shape{}
			}
			out.Steps = append(out.Steps, s.attr)
		}
		return out
	case *objectPlan:
		var out dag.Shape
		for _, m := range p.members {
			out.Members = append(out.Members, dag.MemberShape{Name: m.name, Shape: shapeOf(m.value)})
		}
		return out
	}
	return dag.Shape{}
}
