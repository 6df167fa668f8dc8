package lang

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/penstock-run/penstock/internal/lang/expr"
)

// sensitive is the mark of values that may be printed nowhere.
type sensitiveMark struct{}

// missingMark is on a sensitive value that is not there.
type missingMark struct{}

var (
	sensitive = sensitiveMark{}
	missing   = missingMark{}
)

// environment is the block in which env(name) may be called now, for the
// message about what is missing; empty: it may not be called.
type environment struct {
	block string
	at    hcl.Range
}

// missingSecret is a variable of the environment that is asked for and not set.
type missingSecret struct {
	name, block string
	at          hcl.Range
}

var errEnvHere = errors.New("it gives a sensitive value, and may be called in provider, plugin and corpus blocks only. Declare a variable and set it with PENSTOCK_VAR_x instead")

// setFunctions takes the functions of the language and adds env, which knows
// where it stands.
func (l *loader) setFunctions() {
	l.funcs = maps.Clone(expr.Functions(l.fsys))
	l.funcs["env"] = function.New(&function.Spec{
		Params: []function.Parameter{{Name: "name", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if l.env.block == "" {
				return cty.NilVal, errEnvHere
			}
			name := args[0].AsString()
			v, ok := l.opts.Environ(name)
			if !ok || v == "" {
				// An empty text flows through templates without a complaint; what
				// is missing is complained of once, with all else that is.
				l.secrets = append(l.secrets, missingSecret{name, l.env.block, l.env.at})
				return cty.StringVal("").Mark(sensitive).Mark(missing), nil
			}
			return cty.StringVal(v).Mark(sensitive), nil
		},
	})
}

// withEnv lets env(name) be called while f runs.
func (l *loader) withEnv(block string, at hcl.Range, f func()) {
	l.env = environment{block, at}
	defer func() { l.env = environment{} }()
	f()
}

// constant evaluates what must be known when the pipeline is loaded. It
// reports false where that failed, complained of now or before.
func (l *loader) constant(e hcl.Expression) (cty.Value, bool) {
	return l.constantIn(e, l.constEnv())
}

func (l *loader) constantIn(e hcl.Expression, env *expr.Env) (cty.Value, bool) {
	if l.readsPoisoned(e) {
		return cty.NilVal, false
	}
	v, diags := expr.Constant(e, env)
	l.take(diags)
	return v, !diags.HasErrors()
}

// constEnv is what a constant may read: variables and locals.
func (l *loader) constEnv() *expr.Env {
	return &expr.Env{
		Consts:    l.consts(),
		Functions: l.funcs,
		Elsewhere: l.constElsewhere(),
		Source:    l.files.Source,
	}
}

// variableEnv is what a validation may read, and a default, which reads no
// variables either: else it would matter in which order they are declared.
func (l *loader) variableEnv(isDefault bool) *expr.Env {
	env := l.constEnv()
	hide := func(root, why string) {
		delete(env.Consts, root)
		env.Elsewhere[root] = why
	}
	hide("local", "is computed after the variables, from them: read variables here")
	if isDefault {
		hide("var", "cannot be read in a default. Compute it in a locals block, from variables that may be null")
	}
	return env
}

func (l *loader) consts() map[string]cty.Value {
	return map[string]cty.Value{"var": l.named("var", l.vars), "local": l.named("local", l.locals)}
}

// named are the variables or locals as one object, with those that failed to
// load, or are still to be computed, so that they are known by name.
func (l *loader) named(root string, values map[string]cty.Value) cty.Value {
	all, own := values, false
	add := func(member string) {
		if _, ok := all[member]; ok {
			return
		}
		if !own {
			all, own = maps.Clone(values), true
		}
		all[member] = cty.DynamicVal
	}
	for name := range l.poisoned {
		if member, ok := strings.CutPrefix(name, root+"."); ok {
			add(member)
		}
	}
	if root == "local" && len(values) < len(l.localNames) {
		for _, name := range l.localNames {
			add(name)
		}
	}
	return cty.ObjectVal(all)
}

// constElsewhere explains the names of the language where a constant stands.
func (l *loader) constElsewhere() map[string]string {
	m := maps.Clone(constantsElsewhere)
	if l.gate != nil {
		for _, name := range l.gate.members {
			m[name] = "is a member of the candidate, " + knownLate
		}
	}
	return m
}

const knownLate = "known only when an item runs; what stands here must be known before, from variables, locals and files"

var constantsElsewhere = func() map[string]string {
	m := map[string]string{}
	for _, root := range []string{"stage", "gate", "failure", "mode", "provider", "plugin"} {
		m[root] = everywhereElse[root]
	}
	for _, root := range itemRoots {
		m[root] = "is " + knownLate
	}
	m["env"] = everywhereElse["env"]
	return m
}()

// itemRoots are the names of the language that belong to an item or a run.
var itemRoots = []string{"origin", "item", "output", "artifact", "outcome", "failed", "pass", "finding", "triage", "answer", "run", "each", "bucket", "checks", "visit", "requested"}

// readsPoisoned reports whether e reads a name that failed to load.
func (l *loader) readsPoisoned(e hcl.Expression) bool {
	if len(l.poisoned) == 0 {
		return false
	}
	for _, t := range e.Variables() {
		if l.poisoned[t.RootName()] {
			return true
		}
		if len(t) > 1 {
			if step, ok := t[1].(hcl.TraverseAttr); ok && l.poisoned[t.RootName()+"."+step.Name] {
				return true
			}
		}
	}
	return false
}

// loadLocals evaluates the locals, each after those that it reads.
func (l *loader) loadLocals() {
	w := &localWalk{l: l, attrs: map[string]*hclsyntax.Attribute{}, state: map[string]int{}}
	for _, block := range l.blocks["locals"] {
		for _, attr := range inOrder(l.open(block, shape{free: true}).attrs) {
			if first, ok := w.attrs[attr.Name]; ok {
				l.twice(attr.NameRange, first.NameRange, duplicateName, fmt.Sprintf("There is a local %q already. Give one of them another name, or remove it.", attr.Name))
				continue
			}
			w.attrs[attr.Name] = attr
			l.localNames = append(l.localNames, attr.Name)
		}
	}
	for _, name := range l.localNames {
		w.visit(name)
	}
}

// localWalk is a depth-first walk over what locals read.
type localWalk struct {
	l     *loader
	attrs map[string]*hclsyntax.Attribute
	state map[string]int // 1: on the way, 2: done
	way   []string
}

func (w *localWalk) visit(name string) {
	attr := w.attrs[name]
	if attr == nil || w.state[name] == 2 {
		return
	}
	if w.state[name] == 1 {
		w.cycle(name)
		return
	}
	w.state[name] = 1
	w.way = append(w.way, name)
	for _, t := range attr.Expr.Variables() {
		if t.RootName() != "local" {
			continue
		}
		if step, ok := second(t); ok {
			w.visit(step)
			continue
		}
		w.l.error(t.SourceRange(), wholeObject, "Locals are read by their names, written out: local.NAME. What reads all of them would read itself.")
		w.l.poisoned["local."+name] = true
	}
	w.way = w.way[:len(w.way)-1]
	w.state[name] = 2
	if w.l.poisoned["local."+name] {
		return
	}
	v, ok := w.l.constant(attr.Expr)
	if !ok {
		w.l.poisoned["local."+name] = true
		return
	}
	w.l.locals[name] = v
}

func second(t hcl.Traversal) (string, bool) {
	if len(t) < 2 {
		return "", false
	}
	switch step := t[1].(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String {
			return step.Key.AsString(), true
		}
	}
	return "", false
}

// cycle complains of locals that read each other, and shows the way round.
func (w *localWalk) cycle(name string) {
	round := "local." + name
	start := 0
	for i, n := range w.way {
		if n == name {
			start = i
		}
	}
	for _, n := range w.way[start:] {
		w.l.poisoned["local."+n] = true
		if n != name {
			round += " → local." + n
		}
	}
	w.l.error(w.attrs[name].NameRange, localCycle, fmt.Sprintf("The local reads itself: %s → local.%s. Write one of them without the others.", round, name))
}
