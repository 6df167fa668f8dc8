// Command author keeps the trivia-card example's cassette: it answers the
// prompts of the pipeline from a script that was written by hand.
//
// Whoever changes a prompt, a schema or the script of this example runs it from
// the root of the repository: `go run ./examples/trivia-cards/author` records
// the cassette anew. With -table it prints the table of the README instead.
// Started as `author serve` it is the provider plugin that the recording uses.
//
// It refuses to make anything up: a prompt that the script does not know is an
// error that names what is missing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

// example is the example's folder, from the root of the repository.
const example = "examples/trivia-cards"

func main() {
	table := flag.Bool("table", false, "print the table of the README")
	out := flag.String("o", example+"/cassette.jsonl", "the cassette to write")
	flag.Parse()
	if err := run(flag.Args(), *table, *out); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string, table bool, out string) error {
	script, err := readScript()
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "serve":
		serve(script)
		return nil
	case len(args) > 0:
		return fmt.Errorf("author takes no argument %q: write `author` to record, `author -table` for the table", args[0])
	case table:
		fmt.Print(script.table(), "\n", script.tallyLine(), "\n")
		return nil
	}
	if _, err := os.Stat("pipeline.hcl"); err != nil {
		return errors.New("there is no pipeline.hcl here: run it from the root of the repository")
	}
	return record(script, ".", out)
}
