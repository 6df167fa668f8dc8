package wire

import (
	"slices"
	"strings"
)

// cycles finds the references of a schema by which it contains itself.
type cycles struct {
	root any
	// from holds, of each reference that was seen, the references that stand in what
	// it leads to.
	from map[string][]edge
}

// edge is a reference from within a schema.
type edge struct {
	to       string
	optional bool // a member that may be left out stands on the way
}

// recursion reads the references of a document.
func recursion(document any) *cycles {
	c := &cycles{root: document, from: map[string][]edge{}}
	c.enter("#", document)
	return c
}

func (c *cycles) enter(ref string, node any) {
	if _, known := c.from[ref]; known {
		return
	}
	c.from[ref] = nil
	var edges []edge
	c.edges(node, false, &edges)
	c.from[ref] = edges
	for _, e := range edges {
		c.enter(e.to, resolve(c.root, e.to))
	}
}

// leadsTo tells whether a reference that counts leads to a definition or into it. One
// that is no pointer may lead anywhere.
func (c *cycles) leadsTo(definition string) bool {
	for ref := range c.from {
		if ref == definition || strings.HasPrefix(ref, definition+"/") || !strings.HasPrefix(ref, "#/") && ref != "#" {
			return true
		}
	}
	return false
}

// edges collects the references in a schema, without following them.
func (c *cycles) edges(node any, optional bool, all *[]edge) {
	object, ok := node.(map[string]any)
	if !ok {
		return
	}
	if to, ok := object["$ref"].(string); ok {
		*all = append(*all, edge{to, optional})
	}
	_, wanted := names(object)
	for keyword, value := range object {
		switch keyword {
		case "$defs", "definitions":
		case "properties":
			members, _ := value.(map[string]any)
			for name, schema := range members {
				c.edges(schema, optional || !slices.Contains(wanted, name), all)
			}
		default:
			for _, schema := range below(object, keyword) {
				c.edges(schema, optional, all)
			}
		}
	}
}

// recursive tells whether what a reference leads to contains that reference again;
// mandatory: on a way with no member that may be left out.
func (c *cycles) recursive(ref string, mandatory bool) bool { return c.reaches(ref, ref, mandatory) }

// reaches tells whether what a reference leads to contains another one.
func (c *cycles) reaches(from, to string, mandatory bool) bool {
	seen := map[string]bool{}
	var reaches func(from string) bool
	reaches = func(from string) bool {
		for _, e := range c.from[from] {
			switch {
			case mandatory && e.optional:
			case e.to == to:
				return true
			case !seen[e.to]:
				seen[e.to] = true
				if reaches(e.to) {
					return true
				}
			}
		}
		return false
	}
	return reaches(from)
}

// any tells whether a document contains itself.
func (c *cycles) any() bool {
	for ref := range c.from {
		if c.recursive(ref, false) {
			return true
		}
	}
	return false
}
