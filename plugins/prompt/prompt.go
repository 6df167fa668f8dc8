package prompt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/internal/schema"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// Behaviour stands in the action digest of every visit: raise it when the same
// visit may send another request or take an answer in another way.
const Behaviour = "prompt/1"

// A model that did not hear three times will rarely hear the fourth time.
const (
	defaultReasks = 2
	maxReasks     = 10
)

// Stage is the plugin, ready to be served.
func Stage() sdk.Stage {
	return sdk.Stage{
		Info: sdk.Info{
			Name: "prompt", Version: "1", Behaviour: Behaviour,
			Config: []sdk.Field{
				{Name: "template", Type: "string", Required: true, Doc: "The prompt, a template that is filled with the visit's input; from a file with `file(\"prompts/card.md\")`."},
				{Name: "system", Type: "string", Doc: "The system text, a template too."},
				{Name: "data", Type: "bool", Doc: "Whether the input goes as data: as one JSON document in a frame behind the template, which then reads nothing of it, with fixed words in the system text that it is no instruction. To be preferred wherever an input holds what somebody else wrote."},
				{Name: "examples", Type: "list(string)", Content: true, Doc: "Globs, relative to the pipeline's directory, of files with examples, `{\"input\": …, \"output\": …}` a line (.jsonl) or in an array (.json). Each is sent as a turn of the user and one of the model, before the item's own."},
				{Name: "temperature", Type: "number", Doc: "Sampling temperature; left to the provider if absent."},
				{Name: "top_p", Type: "number", Doc: "Nucleus sampling, from 0 to 1; left to the provider if absent."},
				{Name: "seed", Type: "number", Doc: "Seed for providers that take one, a whole number."},
				{Name: "max_tokens", Type: "number", Doc: "The longest answer; one that reaches it is E_TRUNCATED."},
				{Name: "stop", Type: "list(string)", Doc: "Texts at which the answer ends."},
				{Name: "reasks", Type: "number", Default: "2", Doc: "How often the model is told what is wrong with its answer and asked again, 0 to 10."},
			},
			Codes:    []string{"E_EXPR", "E_REFUSED", "E_TRUNCATED", "E_MALFORMED", "E_OUTPUT", "E_DOCUMENT_SIZE"},
			Services: []string{"complete"},
		},
		Configure: func(_ context.Context, c sdk.Config) (sdk.Func, error) {
			a, err := configure(c)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, v *sdk.Visit) (sdk.Result, error) {
				return a.ask(ctx, v.Input, v.Sample, v.Complete)
			}, nil
		},
	}
}

// CallsPerVisit bounds the completions of one visit by the stage's configuration.
func CallsPerVisit(raw []byte) int {
	var conf config
	if err := (sdk.Config{JSON: raw}).Into(&conf); err != nil || conf.Reasks == nil {
		return 1 + defaultReasks
	}
	return 1 + int(min(max(*conf.Reasks, 0), maxReasks))
}

// Asks tells what a stage's configuration asks of its model besides an answer: the
// names of attributes, and the longest answer in tokens, 0 where it does not say.
func Asks(raw []byte) (asks []string, maxTokens int64) {
	var conf config
	if err := (sdk.Config{JSON: raw}).Into(&conf); err != nil {
		return nil, 0
	}
	for _, a := range []struct {
		name string
		is   bool
	}{{"temperature", conf.Temperature != nil}, {"top_p", conf.TopP != nil}, {"seed", conf.Seed != nil}, {"stop", len(conf.Stop) > 0}} {
		if a.is {
			asks = append(asks, a.name)
		}
	}
	if conf.MaxTokens != nil {
		maxTokens = int64(*conf.MaxTokens)
	}
	return asks, maxTokens
}

// Read is a name, or a path of names, that a configuration reads of the input.
type Read struct {
	Attribute    string // of the configuration: "template", "system"
	Path         []string
	Line, Column int // of the attribute's text, from 1
}

// Reads tells what a stage's configuration reads of each input by name; nothing of one
// that cannot be used. What stands in a range or a with is read of a part of the
// input, and left out.
func Reads(raw []byte) []Read {
	var conf config
	if err := (sdk.Config{JSON: raw}).Into(&conf); err != nil {
		return nil
	}
	var all []Read
	for _, text := range []struct {
		attribute string
		source    *string
	}{{"system", conf.System}, {"template", &conf.Template}} {
		if text.source == nil {
			continue
		}
		t, err := CompileTemplate(*text.source)
		if err != nil {
			return nil
		}
		for _, n := range t.names {
			line, column := place(t.source, int(n.at))
			all = append(all, Read{text.attribute, n.path, line, column})
		}
	}
	return all
}

type config struct {
	Template    string   `json:"template"`
	System      *string  `json:"system"`
	Data        *bool    `json:"data"`
	Examples    []string `json:"examples"`
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	Seed        *float64 `json:"seed"`
	MaxTokens   *float64 `json:"max_tokens"`
	Stop        []string `json:"stop"`
	Reasks      *float64 `json:"reasks"`
}

// asker runs the visits of one stage.
type asker struct {
	template, system *Template // system may be nil
	data             bool
	examples         []*sdk.Message // turns of the user and the model, before the item's own
	sampling         *sdk.Sampling
	reasks           int
	schema           *schema.Schema // nil: any JSON
	source           []byte         // of the schema
}

func configure(c sdk.Config) (*asker, error) {
	var conf config
	if err := c.Into(&conf); err != nil {
		return nil, err
	}
	a := &asker{source: c.OutputSchema, reasks: defaultReasks, data: conf.Data != nil && *conf.Data}
	var diags sdk.Diagnostics
	complain := func(attribute, summary, detail string) {
		diags = append(diags, sdk.Diagnostic{Summary: summary, Detail: detail, Path: []string{attribute}})
	}
	var err error
	if a.template, err = CompileTemplate(conf.Template); err != nil {
		complain("template", "The template cannot be read", err.Error())
	} else if conf.Template == "" {
		complain("template", "The template is empty", "A prompt needs a text to send.")
	}
	if conf.System != nil {
		if a.system, err = CompileTemplate(*conf.System); err != nil {
			complain("system", "The template cannot be read", err.Error())
		}
	}
	whole := func(attribute string, n *float64, least, most float64) *int64 {
		if n == nil {
			return nil
		}
		if *n != math.Trunc(*n) || *n < least || *n > most {
			complain(attribute, "The number is out of range", fmt.Sprintf("%s is a whole number from %.0f to %.0f, not %v.", attribute, least, most, *n))
			return nil
		}
		i := int64(*n)
		return &i
	}
	within := func(attribute string, n *float64, most float64) *float64 {
		if n != nil && (*n < 0 || *n > most) {
			complain(attribute, "The number is out of range", fmt.Sprintf("%s is a number from 0 to %.0f, not %v.", attribute, most, *n))
		}
		return n
	}
	const exact = 1 << 53 // whole numbers above are not exact in JSON
	a.sampling = &sdk.Sampling{
		Temperature: within("temperature", conf.Temperature, 2), TopP: within("top_p", conf.TopP, 1),
		Seed: whole("seed", conf.Seed, -exact, exact), MaxTokens: whole("max_tokens", conf.MaxTokens, 1, exact), Stop: conf.Stop,
	}
	if n := whole("reasks", conf.Reasks, 0, maxReasks); n != nil {
		a.reasks = int(*n)
	}
	if len(c.OutputSchema) > 0 {
		if a.schema, err = schema.Compile("the output schema", c.OutputSchema); err != nil {
			diags = append(diags, sdk.Diagnostic{Summary: "The output schema cannot be used", Detail: err.Error()})
		}
	}
	if a.data {
		if why := a.template.readsInput(); why != nil {
			complain("template", "The template reads what goes as data", why.Error())
		}
		if why := a.system.readsInput(); why != nil {
			complain("system", "The template reads what goes as data", why.Error())
		}
	}
	if len(diags) == 0 && conf.Examples != nil {
		if a.examples, err = a.fewShot(os.DirFS(c.Directory), conf.Examples); err != nil {
			complain("examples", "The examples cannot be used", err.Error())
		}
	}
	if len(diags) > 0 {
		return nil, diags
	}
	return a, nil
}

// fewShot are the turns of the examples that files hold.
func (a *asker) fewShot(fsys fs.FS, patterns []string) ([]*sdk.Message, error) {
	examples, err := readExamples(fsys, patterns, a.schema)
	if err != nil {
		return nil, err
	}
	var turns []*sdk.Message
	for _, e := range examples {
		turn, err := a.turn(e.input, len(turns) == 0)
		var unfit *sdk.Failure
		if errors.As(err, &unfit) {
			return nil, fmt.Errorf("%s: its input does not fill the template: %s", e.at, unfit.Message)
		} else if err != nil {
			return nil, err
		}
		turns = append(turns, turn, says("assistant", string(e.output)))
	}
	return turns, nil
}

// complete is how a visit asks the host.
type complete func(ctx context.Context, request *sdk.CompletionRequest) (*sdk.CompletionReply, error)

// ask runs one visit: the prompt (with its examples), and after each misfit the
// prompt, the latest answer and what is wrong with it. Not the whole conversation: its cost would
// grow with the square of the re-asks.
func (a *asker) ask(ctx context.Context, input []byte, sample int, complete complete) (sdk.Result, error) {
	request, err := a.request(input, sample)
	if err != nil {
		return sdk.Result{}, err
	}
	original := request.Messages
	var notes []string
	for asked := 0; ; asked++ {
		reply, err := complete(ctx, request)
		if err != nil {
			return sdk.Result{}, err // a *sdk.ProviderError, which the SDK maps to its code
		}
		notes = append(notes, reply.GetNotes()...)
		got, err := judge(reply, a.schema)
		if err != nil {
			return sdk.Result{}, err
		}
		if got.fenced != "" {
			notes = append(notes, got.fenced)
		}
		if got.misfit == nil {
			return sdk.Result{Output: got.document, Notes: notes}, nil
		}
		if asked == a.reasks {
			return sdk.Result{}, &sdk.Failure{Code: got.misfit.code, Message: after(got.misfit.text, asked)}
		}
		notes = append(notes, fmt.Sprintf("asked again (%d of %d): %s", asked+1, a.reasks, got.misfit.text))
		again := reask
		if a.data {
			again = reaskFramed
		}
		request.Messages = append(slices.Clip(original), says("assistant", shown(reply)), says("user", again(got.misfit.text)))
	}
}

func (a *asker) request(input []byte, sample int) (*sdk.CompletionRequest, error) {
	turn, err := a.turn(input, len(a.examples) == 0)
	if err != nil {
		return nil, err
	}
	request := &sdk.CompletionRequest{Messages: append(slices.Clip(a.examples), turn), Schema: a.source, Sampling: a.sampling, Sample: uint32(sample)}
	if a.system != nil {
		if request.System, err = render(a.system, "the system template", input); err != nil {
			return nil, err
		}
	}
	if a.data {
		request.System = strings.TrimLeft(request.System+"\n\n"+dataRule, "\n")
	}
	return request, nil
}

// turn is the user's turn about one input. Where the input goes as data, the
// template is the same in all turns, and stands in the first alone.
func (a *asker) turn(input []byte, first bool) (*sdk.Message, error) {
	if a.data && !first {
		return asks("", input), nil
	}
	text, err := render(a.template, "the template", input)
	switch {
	case err != nil:
		return nil, err
	case a.data:
		return asks(text, input), nil
	}
	return says("user", text), nil
}

func render(t *Template, name string, input []byte) (string, error) {
	text, err := t.Render(input)
	var at *TemplateError
	switch {
	case errors.As(err, &at):
		return "", sdk.Fail("E_EXPR", "%s, %v", name, at)
	case err != nil:
		return "", sdk.Fail("E_EXPR", "%s: %v", name, err)
	}
	return text, nil
}

func says(role, text string) *sdk.Message {
	return &sdk.Message{Role: role, Parts: []*sdk.Part{{Type: "text", Text: text}}}
}

// shown is the answer as the model gets to see it again. Servers refuse a turn
// without text.
func shown(reply *sdk.CompletionReply) string {
	if text := reply.GetText(); text != "" {
		return text
	}
	return "(an empty answer)"
}

// reask tells the model what is wrong. Its wording is part of the behaviour:
// recorded re-asks match it.
func reask(misfit string) string {
	return "That answer cannot be used: " + misfit + ".\n\nAnswer again, with the whole answer: one JSON document and nothing else."
}

func after(text string, reasks int) string {
	switch reasks {
	case 0:
		return text
	case 1:
		return text + " (asked again once)"
	}
	return fmt.Sprintf("%s (asked again %d times)", text, reasks)
}
