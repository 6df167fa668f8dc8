package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// TestPublishedSchemas holds each version of each document to the schema that was
// published of it, testdata/published/NAME-VERSION.schema.json: members may be added;
// what was promised stays, or the version is raised. -update publishes what is
// compatible, and nothing else.
func TestPublishedSchemas(t *testing.T) {
	dir := filepath.Join("testdata", "published")
	known := map[string]bool{}
	for _, d := range documents {
		name := fmt.Sprintf("%s-%d.schema.json", d.name, d.version)
		for version := 1; version <= d.version; version++ {
			known[fmt.Sprintf("%s-%d.schema.json", d.name, version)] = true
		}
		now, err := os.ReadFile(filepath.Join(root(t), "docs", "schemas", d.name+".schema.json"))
		if err != nil {
			t.Error(err)
			continue
		}
		published := filepath.Join(dir, name)
		before, err := os.ReadFile(published)
		if os.IsNotExist(err) && *update {
			before, err = now, nil
		}
		if err != nil {
			t.Errorf("version %d of %s is not published: go test ./cmd/penstock -run Schemas -update", d.version, d.name)
			continue
		}
		broken := broken(decodeSchema(t, before), decodeSchema(t, now))
		for _, what := range broken {
			t.Errorf("version %d of %s promised otherwise: %s. Keep it, or raise the version", d.version, d.name, what)
		}
		if *update && broken == nil {
			if err := os.WriteFile(published, now, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !known[e.Name()] {
			t.Errorf("testdata/published/%s: the document was published, and is none any more", e.Name())
		}
	}
}

func decodeSchema(t *testing.T, source []byte) schemaObject {
	t.Helper()
	var s schemaObject
	if err := json.Unmarshal(source, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// broken tells what a later schema of what is printed does not keep of an earlier.
func broken(before, now schemaObject) []string {
	c := comparison{before: before, now: now, seen: map[string]bool{}}
	c.compare("", before, now)
	slices.Sort(c.broken)
	return c.broken
}

type comparison struct {
	before, now schemaObject
	seen        map[string]bool // pairs of references, for types that hold themselves
	broken      []string
}

func (c *comparison) say(path, format string, args ...any) {
	if path == "" {
		path = "the document"
	}
	c.broken = append(c.broken, path+" "+fmt.Sprintf(format, args...))
}

// plain takes null apart and follows a reference.
func plain(root, s schemaObject) (of schemaObject, kind, ref string) {
	null := ""
	if any, ok := s["anyOf"].([]any); ok && len(any) == 2 {
		s, null = any[0].(schemaObject), " or null"
	}
	if ref, _ = s["$ref"].(string); ref != "" {
		s = root["$defs"].(schemaObject)[strings.TrimPrefix(ref, "#/$defs/")].(schemaObject)
	}
	kind, _ = s["type"].(string)
	if kind == "" {
		kind = "anything"
	}
	return s, kind + null, ref
}

func (c *comparison) compare(path string, before, now schemaObject) {
	a, was, from := plain(c.before, before)
	b, is, to := plain(c.now, now)
	if was != is {
		c.say(path, "was %s and is %s", was, is)
		return
	}
	if from != "" && c.seen[from+" "+to] {
		return
	}
	c.seen[from+" "+to] = true
	for _, keyword := range []string{"pattern", "format", "minimum", "const"} {
		if fmt.Sprint(a[keyword]) != fmt.Sprint(b[keyword]) {
			c.say(path, "had the %s %v and has %v", keyword, a[keyword], b[keyword])
		}
	}
	words, _ := b["examples"].([]any)
	for _, word := range asList(a["examples"]) {
		if !slices.Contains(words, word) {
			c.say(path, "can be %q no more", word)
		}
	}
	for _, name := range asList(a["required"]) {
		if !slices.Contains(asList(b["required"]), name) {
			c.say(fmt.Sprintf("%s/%v", path, name), "was always there and may be absent")
		}
	}
	members, _ := a["properties"].(schemaObject)
	later, _ := b["properties"].(schemaObject)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if later[name] == nil {
			c.say(path+"/"+name, "is gone")
			continue
		}
		c.compare(path+"/"+name, members[name].(schemaObject), later[name].(schemaObject))
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		x, _ := a[inner].(schemaObject)
		y, _ := b[inner].(schemaObject)
		switch {
		case x != nil && y != nil:
			c.compare(path+"/*", x, y)
		case x != nil || y != nil:
			c.say(path, "does not say any more what its elements are")
		}
	}
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// TestBroken: what a schema may not do without another version, and what it may.
func TestBroken(t *testing.T) {
	const before = `{
		"type": "object", "required": ["version", "name", "list"],
		"properties": {
			"version": {"const": 1, "type": "integer"},
			"name": {"type": "string", "examples": ["a", "b"], "description": "x"},
			"maybe": {"type": "integer"},
			"null": {"anyOf": [{"$ref": "#/$defs/Part"}, {"type": "null"}]},
			"list": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
			"by": {"type": "object", "additionalProperties": {"type": "string", "pattern": "^x"}}
		},
		"$defs": {"Part": {"type": "object", "required": ["at"], "properties": {"at": {"type": "string"}, "in": {"$ref": "#/$defs/Part"}}}}
	}`
	for _, tt := range []struct {
		name, old, new string
		want           []string
	}{
		{"nothing", "", "", nil},
		{"a member more", `"maybe":`, `"more": {"type": "string"}, "maybe":`, nil},
		{"a member of a part more", `{"at": {`, `{"more": {"type": "string"}, "at": {`, nil},
		{"another description", `"description": "x"`, `"description": "y"`, nil},
		{"a word more", `["a", "b"]`, `["c", "b", "a"]`, nil},
		{"always there from now on", `["version", "name", "list"]`, `["version", "name", "list", "maybe"]`, nil},
		{"a member gone", `"maybe": {"type": "integer"},`, ``, []string{"/maybe is gone"}},
		{"a member renamed", `"maybe"`, `"perhaps"`, []string{"/maybe is gone"}},
		{"absent now and then", `["version", "name", "list"]`, `["version", "list"]`, []string{"/name was always there and may be absent"}},
		{"absent in a part", `["at"]`, `[]`, []string{"/list/*/at was always there and may be absent"}},
		{"another type", `"maybe": {"type": "integer"}`, `"maybe": {"type": "string"}`, []string{"/maybe was integer and is string"}},
		{"wider", `"maybe": {"type": "integer"}`, `"maybe": {"type": "number"}`, []string{"/maybe was integer and is number"}},
		{"null, too", `"maybe": {"type": "integer"}`, `"maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]}`, []string{"/maybe was integer and is integer or null"}},
		{"null no more", `{"anyOf": [{"$ref": "#/$defs/Part"}, {"type": "null"}]}`, `{"$ref": "#/$defs/Part"}`, []string{"/null was object or null and is object"}},
		{"a word less", `["a", "b"]`, `["a"]`, []string{`/name can be "b" no more`}},
		{"another pattern", `"^x"`, `"^y"`, []string{"/by/* had the pattern ^x and has ^y"}},
		{"other elements", `"additionalProperties": {"type": "string", "pattern": "^x"}`, `"additionalProperties": {"type": "integer"}`, []string{"/by/* was string and is integer"}},
		{"elements of any kind", `, "additionalProperties": {"type": "string", "pattern": "^x"}`, ``, []string{"/by does not say any more what its elements are"}},
		{"another version", `"const": 1`, `"const": 2`, []string{"/version had the const 1 and has 2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Count(before, tt.old) != 1 && tt.old != "" {
				t.Fatalf("%q stands there %d times", tt.old, strings.Count(before, tt.old))
			}
			now := strings.Replace(before, tt.old, tt.new, 1)
			if tt.old == "" {
				now = before
			}
			if diff := cmp.Diff(tt.want, broken(decodeSchema(t, []byte(before)), decodeSchema(t, []byte(now)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
