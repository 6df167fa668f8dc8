package source

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

type got struct{ Place, Document string }

func read(t *testing.T, dir string, s *dag.Source) ([]got, error) {
	t.Helper()
	r, err := Open(dir, s)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []got
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		doc, err := record.Document()
		if err != nil {
			return all, err
		}
		all = append(all, got{record.Place(), string(doc)})
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFormats(t *testing.T) {
	long := strings.Repeat("x", 300<<10) // longer than the read buffer
	for _, tt := range []struct {
		name  string
		files map[string]string
		src   dag.Source
		want  []got
	}{
		{"jsonl skips blank lines and keeps line numbers",
			map[string]string{"a.jsonl": "{\"a\":1}\n\n{\"a\":2}\r\n{\"a\":3}"}, dag.Source{Files: []string{"a.jsonl"}},
			[]got{{"a.jsonl:1", `{"a":1}`}, {"a.jsonl:3", `{"a":2}`}, {"a.jsonl:4", `{"a":3}`}}},
		{"a line longer than the buffer",
			map[string]string{"a.jsonl": `"` + long + "\"\n{}\n"}, dag.Source{Files: []string{"a.jsonl"}},
			[]got{{"a.jsonl:1", `"` + long + `"`}, {"a.jsonl:2", `{}`}}},
		{"lines are texts", map[string]string{"w": "one\n\ntwo \"2\"\n"}, dag.Source{Files: []string{"w"}, Format: "lines"},
			[]got{{"w:1", `{"text":"one"}`}, {"w:2", `{"text":""}`}, {"w:3", `{"text":"two \"2\""}`}}},
		{"csv has a head and quoted fields", map[string]string{"t.csv": "a,b\n1,\"x\ny\"\n2,z\n"}, dag.Source{Files: []string{"*.csv"}},
			[]got{{"t.csv:2", `{"a":"1","b":"x\ny"}`}, {"t.csv:4", `{"a":"2","b":"z"}`}}},
		{"a csv row longer than the buffer, and blank lines", map[string]string{"t.csv": "a,b\n\n\n" + long + ",\"1\n\n2\"\n\n3,4"}, dag.Source{Files: []string{"*.csv"}},
			[]got{{"t.csv:4", `{"a":"` + long + `","b":"1\n\n2"}`}, {"t.csv:8", `{"a":"3","b":"4"}`}}},
		{"tsv", map[string]string{"t.tsv": "a\tb\n1\t2\n"}, dag.Source{Files: []string{"t.tsv"}}, []got{{"t.tsv:2", `{"a":"1","b":"2"}`}}},
		{"json is one item a file, files in order of their names",
			map[string]string{"d/b.json": "{\"b\":1}\n", "d/a.json": "{\n \"a\": 1}"}, dag.Source{Files: []string{"d/**/*.json"}},
			[]got{{"d/a.json:1", "{\n \"a\": 1}"}, {"d/b.json:1", `{"b":1}`}}},
		{"a json array is one item an element", map[string]string{"a.json": "[\n{\"n\":1},\n\n{\"n\":2}]\n"}, dag.Source{Files: []string{"a.json"}},
			[]got{{"a.json:2", `{"n":1}`}, {"a.json:4", `{"n":2}`}}},
		{"text", map[string]string{"t.txt": "hello\n"}, dag.Source{Files: []string{"t.txt"}}, []got{{"t.txt:1", `{"path":"t.txt","text":"hello"}`}}},
		{"markdown with front matter", map[string]string{"p.md": "---\ntitle: T\n---\n# H\n"}, dag.Source{Files: []string{"p.md"}},
			[]got{{"p.md:1", `{"path":"p.md","front_matter":{"title":"T"},"text":"# H"}`}}},
		{"markdown without", map[string]string{"p.md": "# H\n"}, dag.Source{Files: []string{"p.md"}},
			[]got{{"p.md:1", `{"path":"p.md","front_matter":null,"text":"# H"}`}}},
		{"a file matched twice is read once", map[string]string{"a.jsonl": "1\n"}, dag.Source{Files: []string{"a.jsonl", "*.jsonl"}}, []got{{"a.jsonl:1", `1`}}},
		{"limit", map[string]string{"a.jsonl": "1\n2\n3\n"}, dag.Source{Files: []string{"a.jsonl"}, Limit: 2}, []got{{"a.jsonl:1", `1`}, {"a.jsonl:2", `2`}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, tt.files)
			all, err := read(t, dir, &tt.src)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, all); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A row with a quotation mark that does not close fails by itself: what the mark had
// taken in are rows of their own.
func TestARowThatIsNoneIsItsOwnFailure(t *testing.T) {
	const open = "a cell begins with a quotation mark and does not end with one"
	for _, tt := range []struct {
		name, file string
		want       []string
	}{
		{"to the end of the file", "a,b\n1,2\n\n3,\"4\n5,6\n7,8\n", []string{`2 {"a":"1","b":"2"}`, "4 " + open, `5 {"a":"5","b":"6"}`, `6 {"a":"7","b":"8"}`}},
		{"to the next mark", "a,b\n1,\"2\n3,4\n5,\"6\"\n7,8\n", []string{"2 " + open, `3 {"a":"3","b":"4"}`, `4 {"a":"5","b":"6"}`, `5 {"a":"7","b":"8"}`}},
		{"one that something follows", "a,b\n1,\"2\n3\"4,5\n6,7\n", []string{"2 " + open, "3 column", `4 {"a":"6","b":"7"}`}},
		{"one in each row", "a,b\n1,\"2\n3,\"4\n5,\"6\n", []string{"2 " + open, "3 " + open, "4 column 6"}},
		{"in the last row", "a,b\n1,\"2", []string{"2 column 6"}},
		{"two that close each other", "a,b\n1,\"2\n3,4\"\n5,6\n", []string{`2 {"a":"1","b":"2\n3,4"}`, `4 {"a":"5","b":"6"}`}},
		{"too many cells over two lines", "a,b\n1,\"2\n3\",4\n5,6\n", []string{"2 the cells of the row are 3", `4 {"a":"5","b":"6"}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newTable(bufio.NewReader(strings.NewReader(tt.file)), ',')
			var all []string
			for {
				r, err := f.next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				doc, err := r.document(r.Raw)
				if err != nil {
					doc = []byte(err.Error())
				}
				all = append(all, fmt.Sprintf("%d %s", r.Line, doc))
			}
			if !slices.EqualFunc(all, tt.want, strings.HasPrefix) {
				t.Errorf("got %q\nwant %q", all, tt.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"x.bin": "1", "two.csv": "a,a\n1,2\n", "short.csv": "a,b\n1\n", "open.json": "[1,2", "open.md": "---\na: 1\n"})
	for _, tt := range []struct {
		file, want string
	}{
		{"none/*.jsonl", `read source s: no file matches "none/*.jsonl"`},
		{"x.bin", `read source s: the ending of "x.bin" tells no format`},
		{"two.csv", `read source s: two.csv: line 1: column 2 has no name of its own ("a"); name each column once`},
		{"short.csv", `the cells of the row are 1, the columns that the first line names 2`},
		{"open.json", `read source s: open.json: jsontext: unexpected EOF after offset 4`},
		{"open.md", `the front matter has no closing line of three dashes`},
	} {
		_, err := read(t, dir, &dag.Source{Name: "s", Files: []string{tt.file}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.file, err, tt.want)
		}
	}
}
