package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/internal/ui"
)

type gcFlags struct {
	maxAge  ageFlag
	maxSize sizeFlag
	runs    int
	dry     bool
	wait    bool
}

func (c *command) gcCommand() *cobra.Command {
	f := gcFlags{maxAge: ageFlag(30 * day), maxSize: 10 << 30}
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove from staging/ what nobody has need of any more",
		Long: "Remove from staging/ what was not used for 30 days, and more, the oldest first, until 10 GiB are\n" +
			"left. What accepted records and unfinished items stand on stays, what a run of the pipeline as it\n" +
			"is would be answered from, and all that the last run made. The corpus is not touched.\n" +
			"Beside a living run nothing is removed: it may take anything.\n\n" +
			"With --dry-run, print what staging/ holds and what would go, and remove nothing.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.gc(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.Var(&f.maxAge, "max-age", "remove what was not used for `TIME`: 12h, 30d, 8w; 0 keeps all")
	flags.Var(&f.maxSize, "max-size", "leave at most `SIZE`: 500MB, 10GiB; 0 is no bound")
	flags.IntVar(&f.runs, "keep-runs", 1, "let all that the last `N` runs made stay")
	flags.BoolVarP(&f.dry, "dry-run", "n", false, "say what would go, and remove nothing")
	flags.BoolVar(&f.wait, "wait", false, "wait for a living run to end")
	return cmd
}

func (c *command) gc(ctx context.Context, f gcFlags) error {
	if f.runs < 0 {
		return usage("--keep-runs takes a whole number from 0, not %d", f.runs)
	}
	o, err := c.options(ctx, runFlags{jobs: 1}, false)
	if err != nil {
		return err
	}
	o.Report = &progress{ui: c.printer(), name: o.Graph.Pipeline.Name}
	done, err := engine.Collect(ctx, o, engine.Bounds{
		MaxAge: time.Duration(f.maxAge), MaxBytes: int64(f.maxSize), KeepRuns: f.runs, Dry: f.dry, Wait: f.wait,
	})
	if err != nil {
		return err
	}
	return c.printCollected(done, f.dry)
}

// gcDocument is what `gc --json` prints.
type gcDocument struct {
	Version   int                `json:"version"`
	DryRun    bool               `json:"dry_run"`
	Empty     bool               `json:"empty"`
	Collected *staging.Collected `json:"collected"`
}

func (c *command) printCollected(done *staging.Collected, dry bool) error {
	p := c.printer()
	if c.json {
		return p.Document(gcDocument{1, dry, done.Empty(), done})
	}
	stays, goes := ">stayed", ">went"
	if dry {
		stays, goes = ">stay", ">go"
	}
	t := ui.NewTable("kind", stays, ">bytes", goes, ">bytes")
	for _, k := range done.Kinds {
		if k.Keep+k.Remove > 0 || k.KeepBytes+k.RemoveBytes > 0 {
			t.Row(k.Kind, figure(k.Keep), size(k.KeepBytes), figure(k.Remove), size(k.RemoveBytes))
		}
	}
	t.Print(p)
	verb := "staging/ had %s and has %s now"
	if dry {
		verb = "staging/ has %s and would have %s"
	}
	if done.Empty() {
		p.Line("nothing to remove: staging/ has %s", size(done.After))
	} else {
		p.Line(verb, size(done.Before), size(done.After))
	}
	if done.Over {
		p.Note("that is more than %s: all of it has to stay, for accepted records, unfinished items, the pipeline as it is, or --keep-runs", size(done.Bound))
	}
	return nil
}

// size is a number of bytes for people.
func size(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), 0
	for value >= 1<<10 && unit < len(binaryUnits)-1 {
		value /= 1 << 10
		unit++
	}
	return fmt.Sprintf("%.1f %s", value, binaryUnits[unit])
}

var binaryUnits = [...]string{"B", "KiB", "MiB", "GiB", "TiB"}

// Units that the flags take; the longer of two that end alike stands first.
var (
	sizeUnits = []unit{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
	}
	ageUnits = []unit{
		{"w", int64(7 * day)}, {"d", int64(day)}, {"h", int64(time.Hour)}, {"m", int64(time.Minute)}, {"s", int64(time.Second)},
	}
)

const day = 24 * time.Hour

type unit struct {
	name  string
	times int64
}

// measured reads a number with a unit; 0 needs none.
func measured(text string, units []unit) (int64, error) {
	if text == "0" {
		return 0, nil
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || !(value >= 0) || value*float64(u.times) >= math.MaxInt64 {
			break
		}
		return int64(value * float64(u.times)), nil
	}
	return 0, errors.New("not a number with a unit")
}

// ageFlag is a time that may be counted in days and weeks.
type ageFlag time.Duration

func (f *ageFlag) Set(text string) error {
	n, err := measured(text, ageUnits)
	*f = ageFlag(n)
	return err
}

func (f *ageFlag) String() string {
	if d := time.Duration(*f); d%day != 0 || d == 0 {
		return d.String()
	}
	return strconv.Itoa(int(time.Duration(*f)/day)) + "d"
}

func (*ageFlag) Type() string { return "age" }

// sizeFlag is a number of bytes.
type sizeFlag int64

func (f *sizeFlag) Set(text string) error {
	n, err := measured(text, sizeUnits)
	*f = sizeFlag(n)
	return err
}

func (f *sizeFlag) String() string {
	return strings.Replace(strings.ReplaceAll(size(int64(*f)), " ", ""), ".0", "", 1)
}

func (*sizeFlag) Type() string { return "size" }
