package sdk_test

import (
	"context"
	"strings"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// A whole plugin: it marks long texts.
func Example() {
	sdk.Serve(sdk.Stage{
		Info: sdk.Info{Name: "length", Version: "1.0.0", Deterministic: true, Codes: []string{"R_EMPTY"}},
		Run: func(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
			var item struct{ Text string }
			if err := v.Into(&item); err != nil {
				return sdk.Result{}, err
			}
			if item.Text == "" {
				return sdk.Result{}, sdk.Fail("R_EMPTY", "there is no text")
			}
			out, err := sdk.Set(v.Input, "long", len(strings.Fields(item.Text)) > 100)
			return sdk.Result{Output: out}, err
		},
	})
}
