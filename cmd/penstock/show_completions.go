package main

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
)

// showCompletionsDocument is what `show --stage --json` prints.
type showCompletionsDocument struct {
	Version int                       `json:"version"`
	Item    string                    `json:"item"`
	Stage   string                    `json:"stage"`
	Visits  []engine.VisitCompletions `json:"visits"`
}

// showCompletions prints the answers that a stage was given for an item, or the
// bytes of one.
func (c *command) showCompletions(item, stage string, raw int, wantsRaw bool) error {
	store, err := c.openStore()
	if err != nil {
		return err
	}
	defer store.Close()
	dir, _, err := c.place()
	if err != nil {
		return err
	}
	visits, err := engine.Completions(store, dir, stage, item)
	if err != nil {
		return err
	}
	if wantsRaw {
		b, err := engine.RawCompletion(store, visits, raw)
		if err != nil {
			return &dag.Error{Op: "show", Subject: stage + "[" + item + "]", Kind: dag.KindConfig, Err: err, Hint: dag.Command("penstock", "show", item, "--stage", stage)}
		}
		_, err = c.out.Write(b)
		return err
	}
	p := c.printer()
	if c.json {
		if visits == nil {
			visits = []engine.VisitCompletions{}
		}
		return p.Document(showCompletionsDocument{1, item, stage, visits})
	}
	if len(visits) == 0 {
		return &dag.Error{Op: "show", Subject: stage + "[" + item + "]", Kind: dag.KindConfig,
			Err: errors.New("the stage did not visit the item"), Hint: dag.Command("penstock", "why", "--not-run", stage+"["+item+"]")}
	}
	for i := range visits {
		v := &visits[i]
		w := whyWriter{p: p}
		w.line("%s[%s], pass %d: %s", stage, item, v.Pass, count(len(v.Completions), "answer", "answers"))
		for k := range v.Completions {
			w.in().completion(&v.Completions[k])
		}
	}
	return nil
}

// completion is an answer on one line, and below it what is known of it.
func (w whyWriter) completion(f *engine.CompletionFacts) {
	if f.Gone {
		w.line("%d  %s: nothing of it is left in staging", f.Number, f.Origin)
		return
	}
	w.line("%d  %s: %s", f.Number, f.Origin, strings.Join(answered(f), ", "))
	in := w.in()
	if f.Refusal != "" {
		in.line("refused: %s", cut(f.Refusal, 200))
	}
	for _, note := range f.Notes {
		in.line("note: %s", note)
	}
	if len(f.WireSchema) > 0 {
		in.line("schema as the server got it: %s", cut(string(f.WireSchema), 200))
	}
	in.line("request %s, answer %s, raw %s", short(f.Request), short(f.Answer), short(f.Raw))
}

// answered tells who answered, and how it ended.
func answered(f *engine.CompletionFacts) []string {
	var words []string
	switch {
	case f.Origin == "cassette" && f.Model != "":
		words = append(words, "recorded with "+f.Model)
		if f.Asked != f.Model {
			words = append(words, "in the place of "+f.Asked)
		}
	case f.Model != "" && f.Model != f.Asked && f.Asked != "":
		words = append(words, f.Model+" for "+f.Asked)
	default:
		words = append(words, cmp.Or(f.Model, f.Asked, "a model that gives no name"))
	}
	words = append(words, "ended with "+f.FinishReason)
	if u := f.Usage; u != nil {
		words = append(words, strconv.FormatInt(u.Input, 10)+" tokens in, "+strconv.FormatInt(u.Output, 10)+" out")
	}
	if f.RequestID != "" {
		words = append(words, "call "+f.RequestID)
	}
	return words
}
