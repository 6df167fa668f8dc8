package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/internal/ui"
)

func (c *command) showCommand() *cobra.Command {
	var stage string
	var raw int
	cmd := &cobra.Command{
		Use:   "show ITEM | DIGEST",
		Short: "Print an item's trail, or an artifact",
		Long: "Print the trail of an item: every visit, every route decision with what it read, and the end.\n" +
			"Given the start of a digest (12 hex digits or more), print that artifact. With --stage, print each\n" +
			"answer of a model that the stage was given for the item: where it came from, who answered, how it\n" +
			"ended, what it cost; with --raw as well, the server's own bytes of one of them, and nothing else.",
		Args: oneArg("an item's key, or the start of a digest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("raw") && stage == "":
				return usage(`--raw prints an answer that a stage was given: name it with --stage`)
			case stage != "":
				return meant("show", args[0], c.showCompletions(args[0], stage, raw, cmd.Flags().Changed("raw")))
			}
			return c.show(args[0])
		},
	}
	cmd.Flags().StringVar(&stage, "stage", "", "print the answers that this stage was given for the item")
	cmd.Flags().IntVar(&raw, "raw", 0, "print the server's own bytes of the answer with this number")
	return cmd
}

func (c *command) show(what string) error {
	store, err := c.openStore()
	if err != nil {
		return err
	}
	defer store.Close()
	member, similar, err := findMember(store, what)
	if err != nil {
		return err
	}
	if member != nil {
		return c.printMember(member)
	}
	if isHex(what) && len(what) >= 12 {
		digest, ok, err := findDigest(store, what)
		if err == nil && !ok {
			digest, ok, err = engine.FindCompletionDocument(store, what)
		}
		if err != nil {
			return err
		}
		if ok {
			doc, err := store.Get(digest)
			if err != nil {
				return err
			}
			return c.printArtifact(doc)
		}
	}
	return &dag.Error{Op: "show", Subject: what, Kind: dag.KindConfig,
		Err: errors.New(nearest(what, similar, "no item and no artifact is called that")), Hint: "penstock status"}
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// findMember looks an item up by its key, children by theirs; else it gives the
// keys that there are.
func findMember(store *staging.Store, key string) (found *engine.Member, keys []string, err error) {
	trailErr := store.Trails(func(t *staging.Trail) bool {
		var members []engine.Member
		members, err = engine.DecodeFamily(t.Body)
		for i := range members {
			if members[i].Key == key {
				found = &members[i]
				return false
			}
			keys = append(keys, members[i].Key)
		}
		return err == nil
	})
	return found, keys, errors.Join(err, trailErr)
}

// findDigest completes the start of a digest that some trail names.
func findDigest(store *staging.Store, start string) (found dag.Digest, ok bool, err error) {
	if full, err := dag.ParseDigest(start); err == nil {
		return full, true, nil
	}
	trailErr := store.Trails(func(t *staging.Trail) bool {
		var members []engine.Member
		members, err = engine.DecodeFamily(t.Body)
		for _, m := range members {
			if m.Trail == nil {
				continue
			}
			digests := []dag.Digest{m.Trail.Origin, m.Trail.First}
			for _, v := range m.Trail.Visits {
				digests = append(digests, v.Input, v.Output, v.Item)
			}
			for _, d := range digests {
				if strings.HasPrefix(d.String(), start) {
					found, ok = d, true
					return false
				}
			}
		}
		return err == nil
	})
	return found, ok, errors.Join(err, trailErr)
}

func (c *command) printArtifact(doc []byte) error {
	value := jsontext.Value(append([]byte(nil), doc...))
	if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
		return err
	}
	c.printer().Line("%s", value)
	return nil
}

// showDocument is what `show --json` prints.
type showDocument struct {
	Version int            `json:"version"`
	Item    *engine.Member `json:"item"`
}

func (c *command) printMember(m *engine.Member) error {
	p := c.printer()
	if c.json {
		return p.Document(showDocument{1, m})
	}
	p.Line("%s", ui.Clean(m.Key+": "+describeEnd(m)))
	if m.Trail == nil {
		return nil
	}
	t := ui.NewTable(">pass", "stage", "outcome", "model", ">tokens", "input", "output", "then")
	for i, v := range m.Trail.Visits {
		outcome := v.Outcome
		if v.Failure != nil {
			outcome = string(v.Failure.Code)
		}
		tokens := ""
		if n := v.Facts.Input + v.Facts.OutTokens; n > 0 {
			tokens = strconv.Itoa(n)
		}
		t.Row(strconv.Itoa(v.Pass), v.Stage, outcome, v.Facts.Model, tokens, short(v.Input), short(v.Output), next(m.Trail, i))
	}
	p.Line("")
	if came := next(m.Trail, -1); came != "" {
		p.Line("%s", ui.Clean("  fanned out of "+m.Trail.Parent+", then "+came))
	}
	t.Print(p)
	if slices.ContainsFunc(m.Trail.Visits, func(v dag.Visit) bool { return v.Facts.Recorded }) {
		p.Line("  the models answered from a cassette: they are those that were recorded")
	}
	if len(m.Trail.Children) > 0 {
		p.Line("  fanned out into %s", count(len(m.Trail.Children), "item", "items"))
	}
	for _, child := range m.Trail.Children {
		p.Line("    %s", ui.Clean(child.Key))
	}
	return nil
}

func describeEnd(m *engine.Member) string {
	text := wouldBe(m.End, m.Dry)
	if m.Record != "" {
		text += " as " + m.Record
	}
	text += endNote(m.Dry, m.Kept)
	if len(m.Codes) > 0 {
		text += " with " + codes(m.Codes)
	}
	if m.Status != "" {
		text += ", status " + m.Status
	}
	if m.Reason != "" {
		text += ": " + m.Reason
	}
	return text
}

func short(d dag.Digest) string {
	if d.IsZero() {
		return "·"
	}
	return d.Short()
}

// seenWidth is how much of a value is shown that decided a route.
const seenWidth = 40

// next is where the item went after its n-th visit, and what was read to decide it.
func next(t *dag.Trail, n int) string {
	for _, d := range t.Decisions {
		if d.After != n {
			continue
		}
		text := d.To
		for i, seen := range d.Seen {
			lead := ", "
			if i == 0 {
				lead = " because "
			}
			text += lead + seen.Path + " is " + cut(string(seen.JSON), seenWidth)
		}
		return text
	}
	return ""
}
