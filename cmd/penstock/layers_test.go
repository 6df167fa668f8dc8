package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const module = "github.com/penstock-run/penstock"

// layers lists what each package of ours may import of ours. A package that is
// not here fails the test: give it its place.
var layers = map[string]string{
	"dag":           "",
	"plugins/proto": "",

	"internal/canon":   "dag",
	"internal/confine": "",
	"internal/flock":   "",
	"internal/heap":    "",
	"internal/schema":  "dag internal/canon",
	"internal/text":    "",
	"internal/weburl":  "",
	"internal/diag":    "dag",
	"internal/draw":    "dag",
	"internal/fetch":   "dag internal/weburl",
	"internal/price":   "dag",
	"internal/similar": "",
	"internal/source":  "dag",
	"internal/ui":      "dag",

	"internal/telemetry": "dag plugins/proto",

	"internal/revision": "dag",

	"internal/lang/expr":  "dag internal/canon internal/diag internal/schema internal/text internal/weburl",
	"internal/lang":       "dag internal/canon internal/diag internal/fetch internal/price internal/schema internal/lang/expr internal/text internal/weburl",
	"internal/staging":    "dag internal/canon internal/flock",
	"internal/host":       "dag internal/confine plugins/proto plugins/sdk",
	"internal/completion": "dag internal/canon internal/flock plugins/proto",
	"gate":                "dag internal/canon internal/fetch internal/schema internal/similar internal/text internal/weburl",
	"internal/engine":     "dag gate internal/canon internal/completion internal/diag internal/draw internal/fetch internal/host internal/lang internal/source internal/staging internal/telemetry plugins/proto",
	"internal/report":     "dag internal/draw internal/engine",
	"internal/trial":      "dag gate internal/canon internal/diag internal/engine internal/host internal/lang internal/source internal/staging",

	"plugins/sdk":           "plugins/proto",
	"plugins/prompt":        "dag internal/canon internal/diag internal/schema plugins/proto plugins/sdk",
	"plugins/exec":          "dag internal/canon plugins/proto plugins/sdk",
	"plugins/echo":          "internal/canon internal/schema plugins/proto plugins/sdk",
	"plugins/wire":          "plugins/proto plugins/sdk",
	"plugins/wire/wiretest": "plugins/proto plugins/sdk",
	"plugins/openai":        "plugins/sdk plugins/wire",
	"plugins/anthropic":     "plugins/sdk plugins/wire",
	"plugins/gemini":        "plugins/sdk plugins/wire",
	"plugins/ollama":        "plugins/sdk plugins/wire",
	"plugins/bundled":       "dag plugins/anthropic plugins/echo plugins/exec plugins/gemini plugins/ollama plugins/openai plugins/prompt plugins/proto plugins/sdk",
}

// foreign lists libraries that belong to few packages, each with the reason.
var foreign = []struct{ path, only, reason string }{
	{"github.com/hashicorp/hcl/v2", "internal/lang internal/lang/expr internal/diag", "the language is one layer: nothing below it reads HCL"},
	{"github.com/hashicorp/go-plugin", "internal/host plugins/sdk", "how processes are started is the host's"},
	{"google.golang.org/grpc", "internal/host plugins/sdk plugins/proto", "the wire is the host's and the SDK's"},
	{"go.opentelemetry.io", "internal/telemetry", "its names and its process-wide state are kept in one place"},
	{"github.com/spf13/cobra", "cmd/penstock", "flags are the command's"},
	{"github.com/agnivade/levenshtein", "internal/text internal/diag", "one place counts edits of data, one of names"},
}

type listing struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

// TestLayers walks the import graph and fails on an arrow that points up.
func TestLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Standard", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := jsontext.NewDecoder(strings.NewReader(string(out)))
	for dec.PeekKind() == '{' {
		var p listing
		if err := json.UnmarshalDecode(dec, &p); err != nil {
			t.Fatal(err)
		}
		checkPackage(t, strings.TrimPrefix(p.ImportPath, module+"/"), p.Imports)
	}
}

func checkPackage(t *testing.T, name string, imports []string) {
	top := strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "examples/") || strings.HasPrefix(name, "bench/")
	allowed, known := layers[name]
	if !known && !top {
		t.Errorf("%s has no place in the layers: add it to the table in layers_test.go", name)
		return
	}
	for _, path := range imports {
		if ours, ok := strings.CutPrefix(path, module+"/"); ok && !top && !listed(allowed, ours) {
			t.Errorf("%s imports %s: that arrow points up or sideways", name, ours)
		}
		for _, f := range foreign {
			if strings.HasPrefix(name, "bench/") {
				break // what is measured against may be built of anything
			}
			if (path == f.path || strings.HasPrefix(path, f.path+"/")) && !listed(f.only, name) {
				t.Errorf("%s imports %s, which only %s may: %s", name, path, f.only, f.reason)
			}
		}
		if name == "dag" {
			for _, impure := range []string{"os", "io", "net", "time/tzdata", "math/rand", "math/rand/v2", "context"} {
				if path == impure {
					t.Errorf("dag imports %s: it is pure", path)
				}
			}
		}
	}
}

func listed(words, word string) bool { return slices.Contains(strings.Fields(words), word) }
