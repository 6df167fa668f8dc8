package expr

import (
	"fmt"
	"io/fs"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/penstock-run/penstock/dag"
)

// Compile checks an expression against what is known before a run and makes it
// ready to evaluate.
func Compile(e hcl.Expression, env *Env, want Want) (dag.Expr, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	x := &simple{e: e, env: env, want: want, digest: dag.Sum([]byte(fmt.Sprint(e.Range())))}
	if env.Source != nil {
		if src := env.Source(e.Range().Filename); src != nil {
			x.src = string(e.Range().SliceBytes(src))
			x.digest = dag.Sum([]byte(x.src))
		}
	}
	for _, t := range e.Variables() {
		if _, ok := env.Consts[t.RootName()]; ok {
			continue
		}
		name := dag.Name{Root: t.RootName()}
		if _, ok := env.Names[name]; !ok && len(t) > 1 {
			if a, ok := t[1].(hcl.TraverseAttr); ok {
				name.Member = a.Name
			}
		}
		if _, ok := env.Names[name]; !ok {
			diags = append(diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Unknown name",
				Detail: fmt.Sprintf("%q cannot be read here.", name), Subject: t.SourceRange().Ptr()})
			continue
		}
		x.names = append(x.names, name)
	}
	if diags.HasErrors() {
		return nil, diags
	}
	return x, diags
}

// Constant evaluates an expression that must be known before a run.
func Constant(e hcl.Expression, env *Env) (cty.Value, hcl.Diagnostics) {
	return e.Value(&hcl.EvalContext{Variables: env.Consts, Functions: env.Functions})
}

// Coverage tells whether conditions cover every case.
type Coverage struct {
	Complete bool   // one of them holds whatever the documents say
	Missing  string // not Complete: a case that none covers, or why it cannot be told, in words
	Dead     []int  // indexes of conditions that can never be the first to hold
}

// Cover proves whether one of the conditions always holds.
func Cover(conds []dag.Expr) Coverage { return Coverage{Missing: "it cannot be told"} }

// Functions are the functions of the language.
func Functions(fsys fs.FS) map[string]function.Function {
	return map[string]function.Function{
		"contains": stdlib.ContainsFunc, "concat": stdlib.ConcatFunc, "length": stdlib.LengthFunc,
		"jsondecode": stdlib.JSONDecodeFunc, "setintersection": stdlib.SetIntersectionFunc, "substr": stdlib.SubstrFunc,
		"file": function.New(&function.Spec{Params: []function.Parameter{{Name: "path", Type: cty.String}}, Type: function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				b, err := fs.ReadFile(fsys, args[0].AsString())
				return cty.StringVal(string(b)), err
			}}),
	}
}

type simple struct {
	e      hcl.Expression
	env    *Env
	want   Want
	names  []dag.Name
	src    string
	digest dag.Digest
}

func (x *simple) eval(s dag.Scope) (cty.Value, error) {
	vars := map[string]cty.Value{}
	for k, v := range x.env.Consts {
		vars[k] = v
	}
	members := map[string]map[string]cty.Value{}
	for _, n := range x.names {
		d, err := s.Lookup(n)
		if err != nil {
			return cty.NilVal, err
		}
		v := cty.NullVal(cty.DynamicPseudoType)
		if !d.IsNull() {
			t, err := ctyjson.ImpliedType(d.Bytes)
			if err != nil {
				return cty.NilVal, err
			}
			if v, err = ctyjson.Unmarshal(d.Bytes, t); err != nil {
				return cty.NilVal, err
			}
		}
		if n.Member == "" {
			vars[n.Root] = v
			continue
		}
		if members[n.Root] == nil {
			members[n.Root] = map[string]cty.Value{}
		}
		members[n.Root][n.Member] = v
	}
	for root, m := range members {
		vars[root] = cty.ObjectVal(m)
	}
	v, diags := x.e.Value(&hcl.EvalContext{Variables: vars, Functions: x.env.Functions})
	if diags.HasErrors() {
		return cty.NilVal, dag.Fail(dag.EExpr, "%s", diags.Error())
	}
	return v, nil
}

func (x *simple) Bool(s dag.Scope, seen *[]dag.Seen) (bool, error) {
	v, err := x.eval(s)
	if err != nil {
		return false, err
	}
	if v.IsNull() || v.Type() != cty.Bool {
		return false, dag.Fail(dag.EExpr, "%s: not a bool", x.Pos())
	}
	return v.True(), nil
}

func (x *simple) Text(s dag.Scope) (string, error) {
	v, err := x.eval(s)
	if err != nil {
		return "", err
	}
	if v.IsNull() || v.Type() != cty.String {
		return "", dag.Fail(dag.EExpr, "%s: not a text", x.Pos())
	}
	return v.AsString(), nil
}

func (x *simple) Doc(s dag.Scope) (dag.Doc, error) {
	if tr, ok := x.e.(*hclsyntax.ScopeTraversalExpr); ok && len(x.names) == 1 {
		if (x.names[0].Member == "" && len(tr.Traversal) == 1) || (x.names[0].Member != "" && len(tr.Traversal) == 2) {
			return s.Lookup(x.names[0])
		}
	}
	v, err := x.eval(s)
	if err != nil {
		return dag.Doc{}, err
	}
	if v.IsNull() {
		return dag.Doc{}, nil
	}
	b, err := Canonical(v)
	if err != nil {
		return dag.Doc{}, dag.Fail(dag.EExpr, "%s: %v", x.Pos(), err)
	}
	return dag.NewDoc(b), nil
}

func (x *simple) Names() []dag.Name  { return x.names }
func (x *simple) Digest() dag.Digest { return x.digest }
func (x *simple) Pos() dag.Pos {
	r := x.e.Range()
	return dag.Pos{File: r.Filename, Line: r.Start.Line, Column: r.Start.Column}
}
func (x *simple) String() string { return x.src }
