// Command gate measures the CPU that judging one candidate costs: the trivia card
// of the root pipeline, against all static checks of its gate, and what each check
// has of it.
//
// It is started in the repository. It prints JSON on standard output, and a table for
// people on standard error. The network is not asked: what a page costs is its
// server's. Other work on the machine makes CPU time longer and never shorter, so a
// figure is the least of many rounds, and beside it stands what hashing 1 MiB took in
// the same rounds.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/plugins/bundled"
)

func main() {
	root := flag.String("root", ".", "the repository")
	rounds := flag.Int("rounds", 41, "rounds; each measures every form once")
	each := flag.Int("n", 100, "candidates of a form in a round")
	whole := flag.Bool("whole", false, "only the gate with all checks")
	profile := flag.String("profile", "", "a file for a CPU profile")
	flag.Parse()
	if err := profiled(*profile, func() error { return run(*root, *rounds, *each, *whole) }); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// profiled runs f under the profiler where a file is named.
func profiled(file string, f func() error) error {
	if file == "" {
		return f()
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return f()
}

// form is the gate with all static checks, or with all but one.
type form struct {
	without string // empty: none is left out
	gate    *gate.Gate
	micros  []float64 // CPU of a candidate, by round
}

func run(root string, rounds, each int, whole bool) error {
	spec, err := load(root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "penstock-gate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	forms, err := formsOf(spec, dir)
	if err != nil {
		return err
	}
	if whole {
		forms = forms[:1]
	}
	c, err := candidate()
	if err != nil {
		return err
	}
	var hashing []float64
	for r := range rounds + 1 { // the first warms up
		if r > 0 {
			hashing = append(hashing, hash())
		}
		for _, f := range forms {
			took, err := f.judge(c, each)
			if err != nil {
				return err
			}
			if r > 0 {
				f.micros = append(f.micros, took)
			}
		}
	}
	return report(forms, hashing)
}

func load(root string) (*dag.Gate, error) {
	describe := func(p *dag.Plugin) (*dag.PluginInfo, error) {
		info, ok := bundled.Info(strings.TrimPrefix(p.Source, "builtin/"))
		if !ok {
			return nil, errors.New("it is not bundled")
		}
		return info, nil
	}
	graph, files, diags := lang.Load(lang.Options{FS: os.DirFS(root), Describe: describe})
	if diags.HasErrors() {
		return nil, cmp.Or(diag.Render(os.Stderr, diags, diag.Options{Source: files.Source}), errors.New("the pipeline is wrong"))
	}
	return graph.Gate, nil
}

// formsOf opens the gate as often as it has checks, and once more. Checks that read
// pages are in none.
func formsOf(spec *dag.Gate, dir string) ([]*form, error) {
	var static []*dag.Check
	for _, c := range spec.Checks {
		if info, _ := dag.LookupCheck(c.Kind); info.Phase != dag.Network {
			static = append(static, c)
		}
	}
	forms := []*form{{}}
	for i, c := range static {
		name := string(c.Kind)
		if c.Kind == "assert" {
			name += " (" + c.Message + ")"
		}
		forms = append(forms, &form{without: fmt.Sprintf("%d %s", i+1, name)})
	}
	for i, f := range forms {
		g := *spec
		g.Checks = slices.Clone(static)
		if i > 0 {
			g.Checks = slices.Delete(g.Checks, i-1, i)
		}
		corpus := *spec.Corpus
		corpus.EvidenceRecord = nil // it names the pages
		g.Corpus = &corpus
		var err error
		f.gate, err = gate.Open(context.Background(), gate.Options{Dir: dir, Pipeline: "bench", Gate: &g, RunID: "bench", StartedAt: time.Now(), DryRun: true})
		if err != nil {
			return nil, err
		}
	}
	return forms, nil
}

// judge gives the CPU of one evaluation, in µs. Each must come to nothing that
// stands against the candidate.
func (f *form) judge(c *gate.Candidate, n int) (float64, error) {
	begun := cpu()
	var last *gate.Evaluation
	for range n {
		last = f.gate.Evaluate(context.Background(), c)
		if err := last.Err(); err != nil {
			return 0, err
		}
	}
	took := float64((cpu() - begun).Nanoseconds()) / 1e3 / float64(n)
	verdicts, err := f.gate.Commit(context.Background(), []*gate.Evaluation{last})
	if err != nil {
		return 0, err
	}
	if v := verdicts[0]; v.End != dag.Accepted {
		return 0, fmt.Errorf("without %q the card ended %s: %s", f.without, v.End, v.Message)
	}
	return took, nil
}

func cpu() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // it has no way to fail
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// names is a scope: documents by name.
type names map[string]dag.Doc

// Lookup implements dag.Scope.
func (n names) Lookup(name dag.Name) (dag.Doc, error) { return n[name.String()], nil }

const (
	card = `{"topic_id":"t-b0d720a63c00","cat":"history","diff":"easy","q":"Which sultan took Constantinople in 1453?","a":"Mehmed II",
		"w":["Suleiman the Magnificent","Bayezid I","Selim III"],"x":"Mehmed II besieged the city for 53 days and made it his capital."}`
	verified = `{"status":"accept","codes":[],"repair_fields":[],"claim":"Mehmed II conquered Constantinople in 1453","unique_answer":true,
		"disproof":{"tried":["another sultan in 1453","another year"],"found":false},"sources":[
		{"url":"https://www.britannica.com/event/Fall-of-Constantinople-1453","quote":"conquest of Constantinople by Sultan Mehmed II","supports":["claim","answer"]},
		{"url":"https://www.worldhistory.org/article/1180/1453-the-fall-of-constantinople/","quote":"the city fell to Mehmed II","supports":["claim","answer"]}]}`
	topic  = `{"cat":"history","diff":"easy","title":"Fall of Constantinople","angle":"the year and the besieger"}`
	origin = `{"cat":"history","diff":"easy","batch":1}`
)

func candidate() (*gate.Candidate, error) {
	scope := names{}
	for name, text := range map[string]string{"item": card, "artifact.verifier": verified, "artifact.topic_miner": topic, "origin": origin} {
		b, err := canon.Canonical(nil, []byte(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		scope[name] = dag.NewDoc(b)
	}
	shown := dag.NewDoc([]byte(`{"card":` + string(scope["item"].Bytes) + `}`))
	visit := func(stage, model string) dag.VisitFacts {
		return dag.VisitFacts{Stage: stage, Pass: 1, Plugin: "builtin/prompt", Provider: "builtin/openai", Model: model, Input: shown.Digest}
	}
	return &gate.Candidate{
		Key: "history/easy/1", Bucket: "history/easy", Scope: scope, Facts: []dag.VisitFacts{visit("crafter", "m-1"), visit("verifier", "m-2")},
		Load: func(dag.Digest) ([]byte, error) { return shown.Bytes, nil },
	}, nil
}

// hash gives the CPU of a SHA-256 over 1 MiB, in µs.
func hash() float64 {
	const times = 8
	mib := make([]byte, 1<<20)
	begun := cpu()
	for range times {
		sha256.Sum256(mib)
	}
	return float64((cpu() - begun).Nanoseconds()) / 1e3 / times
}

func report(forms []*form, hashing []float64) error {
	all := forms[0].micros
	figures := struct {
		Least  float64            `json:"least_us"` // CPU of a candidate
		Median float64            `json:"median_us"`
		Hash   float64            `json:"hash_us"`   // of 1 MiB, the least
		Checks map[string]float64 `json:"checks_us"` // what each check adds
	}{slices.Min(all), median(all), slices.Min(hashing), map[string]float64{}}
	fmt.Fprintf(os.Stderr, "a candidate: %.1f µs of CPU (median of the rounds %.1f); 1 MiB hashed: %.1f µs\n", figures.Least, figures.Median, figures.Hash)
	for _, f := range forms[1:] {
		figures.Checks[f.without] = figures.Least - slices.Min(f.micros)
		fmt.Fprintf(os.Stderr, "%8.1f  %s\n", figures.Checks[f.without], f.without)
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(figures)
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
