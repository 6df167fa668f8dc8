package main

import (
	"context"
	"fmt"
	"os"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// serveGossip is a plugin that talks: in a visit by the SDK's log, and besides on its
// own standard error.
func serveGossip() {
	fmt.Fprintln(os.Stderr, "gossip is here")
	sdk.Serve(sdk.Stage{
		Info: sdk.Info{Name: "gossip", Version: "1.0.0", Deterministic: true},
		Run: func(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
			v.Logf("about %s: %s", v.Key, v.Input)
			fmt.Fprintln(os.Stderr, `{"level": "debug", "message": "a visit was made"}`)
			return sdk.Result{Output: v.Input}, nil
		},
	})
}
