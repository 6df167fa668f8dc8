package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/ui"
)

func (c *command) breakerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "breaker",
		Short: "List the breakers of the buckets, or close one",
		Args:  cobra.ArbitraryArgs,
		RunE:  verbs(func(cmd *cobra.Command) error { return c.breakers(cmd.Context()) }),
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "List the breakers of the buckets",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.breakers(cmd.Context()) },
	}, &cobra.Command{
		Use:   "reset BUCKET",
		Short: "Close a bucket's breaker: its items start again",
		Args:  oneArg("a bucket"),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.resetBreaker(cmd.Context(), args[0]) },
	})
	return cmd
}

// breakerListDocument is what `breaker list --json` prints.
type breakerListDocument struct {
	Version  int            `json:"version"`
	Breakers []gate.Breaker `json:"breakers"`
}

func (c *command) breakers(ctx context.Context) error {
	o, err := c.gateOptions(ctx)
	if err != nil {
		return err
	}
	o.ReadOnly = true
	g, err := gate.Open(ctx, o)
	if err != nil {
		return err
	}
	defer g.Close()
	p, all := c.printer(), g.Breakers()
	if c.json {
		return p.Document(breakerListDocument{1, all})
	}
	if len(all) == 0 {
		p.Line("no bucket has been counted yet")
		return nil
	}
	t := ui.NewTable("bucket", "breaker", ">in a row", ">accepted", ">stopped")
	for _, b := range all {
		state := "closed"
		if b.TrippedAt != nil {
			state = "open since " + b.TrippedAt.Local().Format(time.DateTime)
		}
		t.Row(b.Bucket, state, strconv.Itoa(b.Consecutive), strconv.Itoa(b.Accepted), strconv.Itoa(b.Stopped))
	}
	t.Print(p)
	return nil
}

// breakerResetDocument is what `breaker reset --json` prints.
type breakerResetDocument struct {
	Version int          `json:"version"`
	Reset   string       `json:"reset"`
	Was     gate.Breaker `json:"was"`
}

func (c *command) resetBreaker(ctx context.Context, bucket string) error {
	o, err := c.gateOptions(ctx)
	if err != nil {
		return err
	}
	g, err := gate.Open(ctx, o)
	if err != nil {
		return err
	}
	defer g.Close()
	all := g.Breakers()
	i := slices.IndexFunc(all, func(b gate.Breaker) bool { return b.Bucket == bucket })
	if i < 0 {
		return unknownBucket(bucket, all)
	}
	was := all[i]
	if err := g.ResetBreaker(ctx, bucket); err != nil {
		return err
	}
	if c.json {
		return c.printer().Document(breakerResetDocument{1, bucket, was})
	}
	switch {
	case was.TrippedAt != nil:
		c.printer().Line("the breaker of %s is closed: it was open since %s, after %s in a row", bucket, was.TrippedAt.Local().Format(time.DateTime),
			count(was.Consecutive, "bad end", "bad ends"))
	case was.Consecutive > 0:
		c.printer().Line("the breaker of %s was closed already; its count of %s in a row starts over", bucket, count(was.Consecutive, "bad end", "bad ends"))
	default:
		c.printer().Line("the breaker of %s was closed already, and nothing is counted: nothing was done", bucket)
	}
	return nil
}

// unknownBucket says which bucket was meant, and which breakers are open.
func unknownBucket(bucket string, all []gate.Breaker) error {
	var names, open []string
	for _, b := range all {
		names = append(names, b.Bucket)
		if b.TrippedAt != nil {
			open = append(open, dag.Command("penstock", "breaker", "reset", b.Bucket))
		}
	}
	text := nearest(bucket, names, "no bucket of that name has been counted")
	switch {
	case len(open) == 0:
		text += "; no breaker is open"
		open = []string{"penstock breaker list"}
	case len(open) == 1:
		text += "; one breaker is open"
	default:
		text += fmt.Sprintf("; %d breakers are open", len(open))
	}
	return &dag.Error{Op: "reset breaker", Subject: bucket, Kind: dag.KindConfig, Err: errors.New(text), Hint: strings.Join(open, "\n")}
}
