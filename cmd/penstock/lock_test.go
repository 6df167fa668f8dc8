package main

import (
	"context"
	"os"
	"strings"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// serveShout is the plugin of the README. A script copies the program to have a
// file that is its own, and changes that by a byte at its end.
func serveShout() {
	version := "1.0.0"
	if newer, ok := os.LookupEnv("SHOUT_VERSION"); ok {
		version = newer
	}
	sdk.Serve(sdk.Stage{
		Info: sdk.Info{Name: "shout", Version: version, Deterministic: true},
		Run: func(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
			note := map[string]string{}
			if err := v.Into(&note); err != nil {
				return sdk.Result{}, err
			}
			out, err := sdk.Set(v.Input, "title", strings.ToUpper(note["title"]))
			return sdk.Result{Output: out}, err
		},
	})
}
