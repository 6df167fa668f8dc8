package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// update writes what commands print into the scripts and the README, for a person to
// look through: go test ./cmd/penstock -update
var update = flag.Bool("update", false, "write what is printed into scripts and README")

// TestMain makes the test binary penstock itself, so that scripts run real
// processes: the command, and the plugins that it starts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"penstock":      func() { ownNames(); os.Exit(judged(os.Args[1:])) },
		"trivia-models": func() { serveModels(os.Args[1]) },
		"shout":         serveShout,
		"gossip":        serveGossip,
	})
}

// TestScripts runs every command as a user does.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var webs sites
	schemas := newSchemasSeen(t)
	var fakes models
	var told collectors
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", root)
			env.Setenv(schemasSeen, schemas)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"asked":     webs.asked,
			"called":    fakes.called,
			"checkout":  checkout,
			"collected": told.collected,
			"collector": told.collector,
			"exits":     exits,
			"flip":      flip,
			"keyed":     told.keyed,
			"mask":      mask,
			"model":     fakes.model,
			"nobody":    nobody,
			"replace":   replace,
			"small":     small,
			"snapshot":  snapshot,
			"told":      told.told,
			"web":       webs.web,
		},
	})
}
