package main

import (
	"context"
	"time"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// line is an item, and what becomes of it: how long its completion took, and from
// when to when, in µs of the clock.
type line struct {
	ID      string  `json:"id"`
	Text    string  `json:"text,omitzero"`
	Micros  float64 `json:"micros,omitzero"`
	Thought float64 `json:"thought,omitzero"` // µs of it were the server's
	Begun   int64   `json:"begun,omitzero"`
	Ended   int64   `json:"ended,omitzero"`
}

// serveStage is the stage plugin: a visit asks for one completion and tells what it
// took.
func serveStage() {
	sdk.Serve(sdk.Stage{
		Info: sdk.Info{
			Name: "ask", Version: "1.0.0", Behaviour: "ask/1", Services: []string{"complete"},
			Config: []sdk.Field{{Name: "turn", Type: "number", Doc: "Another one makes every visit anew, with the same requests."}},
		},
		Configure: func(context.Context, sdk.Config) (sdk.Func, error) { return visit, nil },
	})
}

func visit(ctx context.Context, v *sdk.Visit) (sdk.Result, error) {
	var item line
	if err := v.Into(&item); err != nil {
		return sdk.Result{}, err
	}
	request := &sdk.CompletionRequest{Messages: []*sdk.Message{{Role: "user", Parts: []*sdk.Part{{Type: "text", Text: item.Text}}}}}
	begun := time.Now()
	reply, err := v.Complete(ctx, request)
	if err != nil {
		return sdk.Result{}, err
	}
	ended := time.Now()
	thought, err := thoughtOf(reply.Text)
	if err != nil {
		return sdk.Result{}, err
	}
	return sdk.Result{Output: line{ID: item.ID, Micros: micros(ended.Sub(begun)), Thought: thought, Begun: begun.UnixMicro(), Ended: ended.UnixMicro()}}, nil
}
