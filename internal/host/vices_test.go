package host_test

import (
	"context"
	"os"
	"testing"

	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// The test binary is its own plugins: started as "plugin serve NAME" it is a
// bundled one, as "vice NAME" one of a user's with that vice.
func TestMain(m *testing.M) {
	host.MaybeConfine()
	if len(os.Args) == 4 && os.Args[1] == "plugin" && os.Args[2] == "serve" {
		serveBundled(os.Args[3])
		return
	}
	if len(os.Args) >= 3 && os.Args[1] == "vice" {
		serveVice(os.Args[2], os.Args[3:])
		return
	}
	os.Exit(m.Run())
}

func serveBundled(name string) {
	switch name {
	case "echo":
		sdk.Serve(sdk.Stage{Info: sdk.Info{Name: "echo"}, Run: echo})
	}
}

func echo(_ context.Context, v *sdk.Visit) (sdk.Result, error) {
	return sdk.Result{Outcome: "ok", Output: v.Input}, nil
}

func serveVice(name string, args []string) {
}
