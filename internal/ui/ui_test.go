package ui

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func TestTable(t *testing.T) {
	var out, errs bytes.Buffer
	table := NewTable("stage", ">run", "why")
	table.Row("écrivain", "7", "")
	table.Row("x", "12", "a\x1b[31mb")
	table.Print(New(&out, &errs, false, false))
	want := "  stage     run  why\n  écrivain    7\n  x          12  a\ufffd[31mb\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
	if errs.Len() > 0 {
		t.Errorf("on standard error: %q", errs.String())
	}
}

func TestError(t *testing.T) {
	inner := &dag.Error{Op: "open", Subject: "x.jsonl", Kind: dag.KindConfig, Err: errors.New("it is gone\nsince when nobody knows"), Hint: "make it"}
	for _, test := range []struct {
		name        string
		err         error
		json        bool
		out, errOut string
	}{
		{
			name: "with a hint", err: inner,
			errOut: "error: open x.jsonl: it is gone\n       since when nobody knows\nhint:  make it\n",
		},
		{
			name: "each hint once", err: &dag.Error{Op: "run", Hint: "make it", Err: fmt.Errorf("twice: %w", errors.Join(inner, inner))},
			errOut: "error: run: twice: open x.jsonl: it is gone\n       since when nobody knows\n" +
				"       open x.jsonl: it is gone\n       since when nobody knows\nhint:  make it\n",
		},
		{
			name: "what could steer a terminal", err: errors.New("a\x1b]0;b\x07c"),
			errOut: "error: a\ufffd]0;b\ufffdc\n",
		},
		{
			name: "JSON", err: inner, json: true,
			out: `{
  "version": 1,
  "error": {
    "message": "open x.jsonl: it is gone\nsince when nobody knows",
    "kind": "config",
    "hint": "make it"
  }
}
`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			New(&out, &errs, test.json, false).Error(test.err)
			if diff := cmp.Diff(test.out, out.String()); diff != "" {
				t.Errorf("standard output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.errOut, errs.String()); diff != "" {
				t.Errorf("standard error (-want +got):\n%s", diff)
			}
		})
	}
}

// Where nothing is a terminal there is no footer and no colour.
func TestNoTerminal(t *testing.T) {
	var out, errs bytes.Buffer
	p := New(&out, &errs, false, false)
	p.Footer("working")
	p.EndFooter()
	if p.Colour() || p.Live() || out.Len()+errs.Len() > 0 {
		t.Errorf("colour %v, live %v, printed %q and %q", p.Colour(), p.Live(), out.String(), errs.String())
	}
}
