// Command plugin is the stage plugin of the benchmarks: each of its stages does
// one small thing to a document, as the peers' steps do.
//
// bench/penstock/gen.py writes the pipelines that name it. It refuses whatever
// is not in its table of steps.
package main

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// steps by the word in a stage's configuration. They set members in the raw
// document, as the SDK offers it: what a stage does not look at is not decoded.
var steps = map[string]func(doc []byte, config settings) ([]byte, error){
	"mark":  func(doc []byte, c settings) ([]byte, error) { return sdk.Set(doc, "stage", c.Number) },
	"route": func(doc []byte, c settings) ([]byte, error) { return sdk.Set(doc, "routed", c.Word) },
	"verify": func(doc []byte, _ settings) ([]byte, error) {
		q, err := quality(doc)
		if err != nil {
			return nil, err
		}
		return sdk.Set(doc, "ok", q >= 0.5)
	},
	"repair": func(doc []byte, _ settings) ([]byte, error) {
		q, err := quality(doc)
		if err != nil {
			return nil, err
		}
		patch, err := json.Marshal(struct {
			Quality  float64 `json:"quality"`
			Repaired bool    `json:"repaired"`
		}{q + 0.3, true})
		if err != nil {
			return nil, err
		}
		return sdk.Merge(doc, patch)
	},
}

func quality(doc []byte) (float64, error) {
	var d struct {
		Quality float64 `json:"quality"`
	}
	err := json.Unmarshal(doc, &d)
	return d.Quality, err
}

type settings struct {
	Step   string `json:"step"`
	Number int    `json:"number"`
	Word   string `json:"word"`
}

func main() {
	sdk.Serve(sdk.Stage{
		Info: sdk.Info{
			Name: "bench", Version: "1.0.0", Behaviour: "bench/1", Deterministic: true,
			Config: []sdk.Field{
				{Name: "step", Type: "string", Required: true, Doc: "mark, route, verify or repair"},
				{Name: "number", Type: "number", Default: "0"},
				{Name: "word", Type: "string", Default: `""`},
			},
		},
		Configure: func(_ context.Context, c sdk.Config) (sdk.Func, error) {
			var s settings
			if err := c.Into(&s); err != nil {
				return nil, err
			}
			step, ok := steps[s.Step]
			if !ok {
				return nil, fmt.Errorf("step %q is none of mark, route, verify, repair", s.Step)
			}
			return func(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
				doc, err := step(v.Input, s)
				return sdk.Result{Output: doc}, err
			}, nil
		},
	})
}
