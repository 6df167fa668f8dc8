package lang

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// rareBlocks holds the blocks that no case of testdata has in order.
const rareBlocks = `
failure "R_X" { meaning = "Bad." }
stage "rare" {
  plugin   = plugin.prompt
  provider = provider.writer
  config { template = "x" }
  findings { codes = { thin = failure.R_X } }
  batch { size = 2 }
  decide {
    rule "r" {
      if      = true
      outcome = "ok"
    }
    else { outcome = "ok" }
    finding "f" {
      if   = true
      code = failure.R_X
    }
  }
}
route "rare" {
  from = stage.rare
  on "ok" {
    ask {
      question = "?"
      resume   = stage.rare
      max      = 1
      expired { stop = "failed" }
    }
  }
}
provider "rare" {
  plugin = plugin.openai
  model  = "m"
  limits { concurrency = 1 }
  price {
    input  = 1
    output = 1
  }
}
gate "rare" {
  candidate = { card = item }
  corpus "$KIND" {
    outbox { event = {} }
  }
  breaker { consecutive = 2 }
  review {}
  skipped {}
}
`

// armBlocks hold arms of routes: what may stand in them is the same.
var armBlocks = []string{"route", "when", "else", "on", "fail", "exhausted", "expired", "shadow"}

// offered is what each block may hold, as the language itself asks.
type offered struct {
	attributes, blocks map[string]map[string]bool
}

func (o *offered) hear(block string, s shape) {
	block, _, _ = strings.Cut(block, " ") // `check "words"`
	names := slices.Concat(s.need, s.may)
	if o.attributes[block] == nil {
		o.attributes[block], o.blocks[block] = map[string]bool{}, map[string]bool{}
	}
	for _, name := range names {
		o.attributes[block][name] = true
	}
	for _, inner := range s.blocks {
		o.blocks[block][inner.name] = true
	}
}

// Every attribute of every block says what an edit of it does; nothing else does.
func TestRequirement17EveryAttributeIsClassified(t *testing.T) {
	o := &offered{map[string]map[string]bool{}, map[string]map[string]bool{}}
	load := func(src string) {
		s := readSetting(t, src)
		fsys := fstest.MapFS{"pipeline.hcl": {Data: []byte(src)}}
		addTree(t, fsys, "testdata/files", func(name string) string { return name })
		addTree(t, fsys, "testdata/base", func(name string) string {
			if slices.Contains(s.without, "base") || slices.Contains(s.without, strings.TrimSuffix(name, ".pipeline.hcl")) {
				return ""
			}
			return name
		})
		s.opts.FS, s.opts.opened = fsys, o.hear
		Load(s.opts)
	}
	cases, err := filepath.Glob("testdata/*.hcl")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		load(string(src))
	}
	for _, kind := range corpusKinds {
		load("#! without gate\n" + strings.Replace(rareBlocks, "$KIND", kind, 1))
	}
	want := map[string]map[string]bool{}
	put := func(block, name string) {
		if want[block] == nil {
			want[block] = map[string]bool{}
		}
		want[block][name] = true
	}
	for _, a := range Attributes() {
		put(a.Block, a.Name)
	}
	got := map[string]map[string]bool{}
	for block, names := range o.attributes {
		switch {
		case block == "outputs": // as a case misspells it, and it is read for what is meant
			continue
		case block == "config" || block == "locals" || block == "let": // a plugin's own, or anybody's
			continue
		case slices.Contains(armBlocks, block):
			for name := range names {
				if block == "route" && name == "from" {
					continue
				}
				if got["arm"] == nil {
					got["arm"] = map[string]bool{}
				}
				got["arm"][name] = true
			}
			if block == "route" {
				got["route"] = map[string]bool{"from": names["from"]}
			}
			continue
		case block == "limits": // the language's; a plugin of the tests has one of this name, too
			delete(names, "memory")
		}
		if len(names) > 0 {
			got[block] = names
		}
	}
	for _, kind := range dag.CheckKinds() { // that no case has
		for _, arg := range kind.Args {
			got["check"][arg.Name] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes (-in effects.go +in the language):\n%s", diff)
	}
	// Else an attribute could hide in a block that no pipeline of this test has.
	for outer, inner := range o.blocks {
		for name := range maps.Keys(inner) {
			if outer != "config" && o.attributes[name] == nil && name != "config" && name != "let" && name != "decide" {
				t.Errorf("no pipeline here has a %s block in a %s block", name, outer)
			}
		}
	}
	for _, name := range topNames {
		if o.attributes[name] == nil && name != "locals" {
			t.Errorf("no pipeline here has a %s block", name)
		}
	}
}
