// Command completion measures what the host adds to a completion: from a stage's
// call of its SDK, through the host's service (cache key, limits, budget, store)
// and the process of a provider plugin, to an HTTP server on loopback and back. The
// floor is a plain HTTP client that sends that server the very same requests. Of each
// completion the time is taken that the server did not think, as its answer tells.
//
//	go run ./bench/completion -dir DIR
//
// It is for people who change that path. It refuses nothing and promises nothing.
// Client and pipeline take turns, round by round, so that what else the machine does
// falls on both. The table goes to standard error, JSON to standard output.
//
// The one binary is the program, the client (a process of its own, so that its CPU
// can be told) and the stage plugin of the pipeline.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/plugins/proto"
)

func main() {
	if os.Getenv(proto.CookieKey) == proto.CookieValue {
		serveStage()
		return
	}
	var o options
	flag.StringVar(&o.dir, "dir", "", "work in a new folder below `DIR` (default: the system's folder for temporary files)")
	flag.StringVar(&o.penstock, "penstock", "", "the `FILE` to run (default: built from this repository)")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds")
	flag.IntVar(&o.items, "n", 1500, "completions of a round")
	flag.IntVar(&o.atOnce, "at-once", 64, "how many are asked for at once")
	flag.DurationVar(&o.think, "think", 250*time.Millisecond, "how long the server thinks in the mean, where it does")
	flag.StringVar(&o.form, "form", "", "only `FORM`, for a profile: think, think_stream, busy")
	client := flag.String("client", "", "be the plain client of this `ADDRESS`; the request comes on standard input")
	flag.Parse()
	work := func() error { return run(o) }
	if *client != "" {
		work = func() error { return beClient(*client, o.items, o.atOnce) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

type options struct {
	dir, penstock, form   string
	rounds, items, atOnce int
	think                 time.Duration
}

// took is what one round of one side came to.
type took struct {
	Micros []float64 `json:"micros,omitzero"` // of each completion, in a stage
	Beyond []float64 `json:"beyond"`          // the same less what the server thought
	Wall   float64   `json:"wall"`            // µs, from the first to the last
	cpu    float64   // µs, of all its processes
}

// form is a way for the server to answer.
type form struct {
	name   string
	think  bool
	stream bool
	items  int
	least  []float64 // medians of the client, µs beyond the server's thinking, by round
	ours   []float64 // of the pipeline, likewise
	cpu    []float64 // of the pipeline a completion, µs, the start of its processes in it
	bare   []float64 // of the client, likewise
	added  []float64 // wall of a completion, pipeline less client, µs
}

func run(o options) error {
	work, err := os.MkdirTemp(o.dir, "penstock-completion-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if o.penstock == "" {
		o.penstock = filepath.Join(work, "penstock")
		if err := build(o.penstock); err != nil {
			return err
		}
	}
	server, err := newServer()
	if err != nil {
		return err
	}
	defer server.close()
	b := &bench{options: o, work: work, server: server}
	if err := b.prepare(); err != nil {
		return err
	}
	forms := []*form{
		{name: "think", think: true, items: o.items},
		{name: "think_stream", think: true, stream: true, items: o.items},
		{name: "busy", items: 5 * o.items},
	}
	if o.form != "" {
		forms = slices.DeleteFunc(forms, func(f *form) bool { return f.name != o.form })
	}
	if len(forms) == 0 {
		return fmt.Errorf("there is no form %q: think, think_stream, busy", o.form)
	}
	var cached []float64
	for r := range o.rounds + 1 { // the first warms up
		for _, f := range forms {
			if err := b.round(f, r > 0); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
		again, err := b.again(forms[len(forms)-1])
		if err != nil {
			return fmt.Errorf("cached: %w", err)
		}
		if r > 0 {
			cached = append(cached, median(again.Micros))
		}
	}
	looked, err := lookUps(work, o.items)
	if err != nil {
		return fmt.Errorf("look-up: %w", err)
	}
	return report(forms, cached, looked, o)
}

// round lets the two sides take turns.
func (b *bench) round(f *form, counts bool) error {
	b.server.think, b.server.stream = 0, f.stream
	if f.think {
		b.server.think = b.options.think
	}
	ours, err := b.pipeline(f)
	if err != nil {
		return err
	}
	least, err := b.client(f)
	if err != nil || !counts {
		return err
	}
	f.least, f.ours = append(f.least, median(least.Beyond)), append(f.ours, median(ours.Beyond))
	n := float64(f.items)
	f.cpu, f.bare = append(f.cpu, ours.cpu/n), append(f.bare, least.cpu/n)
	f.added = append(f.added, ours.Wall/n-least.Wall/n)
	return nil
}

// figures are what is printed as JSON: µs, medians of the rounds.
type figures struct {
	AtOnce int                   `json:"at_once"`
	Think  float64               `json:"think_us"`
	Forms  map[string]formFigure `json:"forms"`
	Cached float64               `json:"cached_us"`  // an answer of the cache, as the stage sees it
	LookUp float64               `json:"look_up_us"` // the same within the host
}

type formFigure struct {
	HTTP    float64 `json:"http_us"`  // the client's median, beyond the server's thinking
	Ours    float64 `json:"ours_us"`  // the stage's median, likewise
	Added   float64 `json:"added_us"` // the difference of one round
	Low     float64 `json:"low_us"`
	High    float64 `json:"high_us"`
	Each    float64 `json:"each_us"` // what a completion adds to the time of the whole round
	CPU     float64 `json:"cpu_us"`
	HTTPCPU float64 `json:"http_cpu_us"`
}

func report(forms []*form, cached []float64, looked float64, o options) error {
	out := figures{AtOnce: o.atOnce, Think: micros(o.think), Forms: map[string]formFigure{}, Cached: median(cached), LookUp: looked}
	fmt.Fprintf(os.Stderr, "%d at once, medians of %d rounds in turn, µs\n\n| form | HTTP alone | in a stage | added | a completion of the whole | CPU |\n|---|---|---|---|---|---|\n", o.atOnce, o.rounds)
	for _, f := range forms {
		var added []float64
		for i := range f.ours {
			added = append(added, f.ours[i]-f.least[i])
		}
		x := formFigure{HTTP: median(f.least), Ours: median(f.ours), Added: median(added), Low: slices.Min(added), High: slices.Max(added), Each: median(f.added), CPU: median(f.cpu), HTTPCPU: median(f.bare)}
		out.Forms[f.name] = x
		fmt.Fprintf(os.Stderr, "| %s | %.0f | %.0f | %.0f (%.0f–%.0f) | %+.0f | %.0f to %.0f |\n", f.name, x.HTTP, x.Ours, x.Added, x.Low, x.High, x.Each, x.CPU, x.HTTPCPU)
	}
	fmt.Fprintf(os.Stderr, "| cached, one at a time | | %.0f | | | |\n| look-up within the host | | %.1f | | | |\n", out.Cached, out.LookUp)
	return json.MarshalWrite(os.Stdout, out, jsontext.WithIndent("  "), json.Deterministic(true))
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
