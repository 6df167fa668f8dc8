package lang

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

const variables = `
variable "level" { default = "easy" }
variable "list" {
  type    = list(string)
  default = ["a"]
}
variable "limits" {
  type    = object({ low = number, high = optional(number, 9) })
  default = { low = 1 }
}
variable "key" {
  default   = "none"
  sensitive = true
}
`

// TestVariables: a flag wins over a file, a later file over an earlier, a file
// over the environment, the environment over the default.
func TestVariables(t *testing.T) {
	fileA := VarFile{"../elsewhere/a.hcl", []byte("level = \"from a\"\nlimits = { low = 3, high = 5 }\n")}
	fileB := VarFile{"/tmp/b.json", []byte(`{"level": "from b"}`)}
	tests := []struct {
		name string
		opts Options
		want map[string]string
	}{
		{"defaults", Options{}, map[string]string{"level": `"easy"`, "list": `["a"]`, "limits": `{"high":9,"low":1}`, "key": ""}},
		{"environment", Options{Environ: environ("PENSTOCK_VAR_level", "hard", "PENSTOCK_VAR_list", `["x", "y"]`)},
			map[string]string{"level": `"hard"`, "list": `["x","y"]`, "limits": `{"high":9,"low":1}`, "key": ""}},
		{"a file over the environment", Options{Environ: environ("PENSTOCK_VAR_level", "hard"), VarFiles: []VarFile{fileA}},
			map[string]string{"level": `"from a"`, "list": `["a"]`, "limits": `{"high":5,"low":3}`, "key": ""}},
		{"a later file", Options{VarFiles: []VarFile{fileA, fileB}},
			map[string]string{"level": `"from b"`, "list": `["a"]`, "limits": `{"high":5,"low":3}`, "key": ""}},
		{"a flag over a file", Options{VarFiles: []VarFile{fileA}, Vars: map[string]string{"level": "${flag}", "limits": "{ low = 2 }", "key": "k"}},
			map[string]string{"level": `"${flag}"`, "list": `["a"]`, "limits": `{"high":9,"low":2}`, "key": ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := fstest.MapFS{
				"pipeline.hcl": {Data: []byte(variables)},
			}
			addTree(t, fsys, "testdata/files", func(name string) string { return name })
			addTree(t, fsys, "testdata/base", func(name string) string { return name })
			tt.opts.FS, tt.opts.Describe = fsys, describe
			graph, files, diags := Load(tt.opts)
			if graph == nil {
				t.Fatal(render(t, files, diags))
			}
			got := map[string]string{}
			for _, v := range graph.Variables {
				got[v.Name] = string(v.Value.Bytes)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestConstraints(t *testing.T) {
	tests := []struct {
		op, version, want string
		holds             bool
	}{
		{"", "v1.2.3", "v1.2.3", true},
		{"=", "v1.2.3", "v1.2.4", false},
		{"!=", "v1.2.3", "v1.2.4", true},
		{">", "v1.2.3", "v1.2.3", false},
		{">=", "v1.2.3", "v1.2.3", true},
		{">=", "v1.2.3-rc.1", "v1.2.3", true},
		{"<", "v1.10.0", "v1.9.0", false},
		{"<=", "v1.9.0+build", "v1.9.0", true},
		{"~>", "v1.2.9", "v1.2.3", true},
		{"~>", "v1.3.0", "v1.2.3", false},
		{"~>", "v1.9.0", "v1.2", true},
		{"~>", "v2.0.0", "v1.2", false},
	}
	for _, tt := range tests {
		if got := holds(tt.op, tt.version, tt.want); got != tt.holds {
			t.Errorf("%s %s %s is %v, want %v", tt.version, tt.op, tt.want, got, tt.holds)
		}
	}
}

// TestKnown follows paths into a schema, through references.
func TestKnown(t *testing.T) {
	k := knownSchema(partSchema{dag.NewDoc([]byte(`{
		"type": "object", "required": ["list"],
		"properties": {"list": {"type": "array", "items": {"$ref": "#/$defs/part"}}, "loop": {"$ref": "#/properties/loop"}},
		"$defs": {"part": {"type": "object", "required": ["name", "of"], "properties": {"name": {"type": "string"}, "of": {"$ref": "#/$defs/part"}}}}
	}`))})
	tests := []struct {
		name string
		got  known
		want string
	}{
		{"a member", k.member("list"), "list of objects"},
		{"an element through a reference", k.member("list").element(), "object"},
		{"what stands in it", k.member("list").element().member("name"), "text"},
		{"a reference in it", k.member("list").element().member("of").member("name"), "text"},
		{"no such member", k.member("none"), "any"},
		{"no list", k.element(), "any"},
		{"a reference to itself", k.member("loop").member("x"), "any"},
	}
	for _, tt := range tests {
		if got := tt.got.t.String(); got != tt.want {
			t.Errorf("%s is %s, want %s", tt.name, got, tt.want)
		}
	}
}
