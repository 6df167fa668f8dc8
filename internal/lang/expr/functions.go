package expr

import (
	"io/fs"

	"github.com/zclconf/go-cty/cty/function"
)

// FunctionDoc describes a function of the language for people.
type FunctionDoc struct {
	Name        string `json:"name"`
	Signature   string `json:"signature"`   // "substr(str, offset, length)"
	Description string `json:"description"` // one sentence
	Example     string `json:"example"`     // an expression
	Result      string `json:"result"`      // what it gives, as JSON
}

// entry is a function of the catalogue. Every example is run as a test.
type entry struct {
	name        string
	description string
	example     string
	result      string
	f           function.Function
	make        func(fs.FS) function.Function // instead of f, where it reads files
}

// Functions are the functions of the language. Those that read files read them
// in fsys, whose root is the pipeline's directory. None tells the time, the
// environment or a random number: the same arguments give the same result, or
// nothing could be answered from staging.
func Functions(fsys fs.FS) map[string]function.Function {
	all := map[string]function.Function{}
	for _, e := range catalogue() {
		if e.make != nil {
			all[e.name] = e.make(fsys)
		} else {
			all[e.name] = e.f
		}
	}
	// A template may call everything but templatefile: it could call itself.
	inTemplates := map[string]function.Function{}
	for name, f := range all {
		inTemplates[name] = f
	}
	all["templatefile"] = templateFile(fsys, inTemplates)
	return all
}

// FunctionDocs describes every function, by name.
func FunctionDocs() []FunctionDoc {
	functions := Functions(emptyFS{})
	docs := []FunctionDoc{}
	for _, e := range sorted(append(catalogue(), templateFileEntry)) {
		docs = append(docs, FunctionDoc{Name: e.name, Signature: signature(e.name, functions[e.name]),
			Description: e.description, Example: e.example, Result: e.result})
	}
	return docs
}

// emptyFS has no files.
type emptyFS struct{}

func (emptyFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
