package lang

import (
	"maps"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

// known is what is known of a document: its type, and where that came from one
// schema, the part of the schema, so that a path can be followed into it.
type known struct {
	t    *expr.Type
	node map[string]any // nil: not one schema
	root map[string]any
	elem *known // not nil: a list of these, whatever the schema says
}

var unknown = known{t: expr.Any()}

func knownSchema(s dag.Schema) known {
	if s == nil {
		return unknown
	}
	k := known{t: expr.FromSchema(s)}
	var root map[string]any
	if err := json.Unmarshal(s.Source().Bytes, &root); err == nil {
		k.node, k.root = root, root
	}
	return k
}

// typed reports whether anything is known.
func (k known) typed() bool { return k.t != nil && k.t != expr.Any() }

func (k known) join(other known) known {
	if !k.typed() || !other.typed() {
		return unknown
	}
	return known{t: expr.Join(k.t, other.t)}
}

// member is what stands under a name.
func (k known) member(name string) known {
	if k.node == nil {
		return known{t: k.t.Member(name)}
	}
	properties, _ := k.resolved()["properties"].(map[string]any)
	return k.part(properties[name])
}

// element is what the elements of a list are.
func (k known) element() known {
	if k.elem != nil {
		return *k.elem
	}
	if k.node == nil {
		return known{t: k.t.Elem()}
	}
	return k.part(k.resolved()["items"])
}

// list is a list of such documents.
func (k known) list() known { return known{t: expr.List(k.t), elem: &k} }

// resolved follows a reference to the part of the schema that it names.
func (k known) resolved() map[string]any {
	node := k.node
	for range 16 { // references may go round
		ref, ok := node["$ref"].(string)
		if !ok {
			return node
		}
		var at any = k.root
		for _, token := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			m, ok := at.(map[string]any)
			if !ok {
				return nil
			}
			at = m[token]
		}
		if node, ok = at.(map[string]any); !ok {
			return nil
		}
	}
	return nil
}

// part is a part of the schema as one of its own: it keeps the definitions
// that its references name.
func (k known) part(of any) known {
	node, ok := of.(map[string]any)
	if !ok {
		return unknown
	}
	alone := maps.Clone(node)
	for _, word := range []string{"$defs", "definitions"} {
		if defs, ok := k.root[word]; ok && alone[word] == nil {
			alone[word] = defs
		}
	}
	src, err := json.Marshal(alone, json.Deterministic(true))
	if err != nil {
		return unknown
	}
	return known{t: expr.FromSchema(partSchema{dag.NewDoc(src)}), node: node, root: k.root}
}

// partSchema is a part of a schema, to be typed and never to validate.
type partSchema struct{ source dag.Doc }

// Validate implements dag.Schema; a part validates nothing.
func (p partSchema) Validate([]byte) error { return nil }

// Source implements dag.Schema.
func (p partSchema) Source() dag.Doc { return p.source }

// Name implements dag.Schema.
func (p partSchema) Name() string { return "" }
