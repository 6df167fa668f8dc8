package gate

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/text"
)

// rules names the behaviour of the checks in this package. It is raised when a
// check comes to decide something else on the same arguments.
const rules = 4

// DigestOf identifies a gate by what decides: its checks, their order and their
// arguments. What is recorded and where, and the breaker, are left out.
func DigestOf(g *dag.Gate) dag.Digest {
	d := newDigester("gate")
	d.number(rules)
	d.number(text.Version)
	d.text(g.Undecided)
	for _, check := range g.Checks {
		d.text(string(check.Kind))
		d.text(string(check.Code))
		d.text(string(check.Triage))
		d.flag(check.Ends)
		d.flag(shadowed(check.Mode))
		d.expr(check.If)
		for _, name := range slices.Sorted(maps.Keys(check.Args)) {
			d.text(name)
			d.expr(check.Args[name])
		}
		if check.Schema != nil {
			d.digest(check.Schema.Source().Digest)
		}
		d.stage(check.Stage)
		for _, stage := range check.Of {
			d.stage(stage)
		}
		d.text("")
	}
	for _, owner := range g.SameOwner {
		d.number(len(owner))
		for _, domain := range owner {
			d.text(domain)
		}
	}
	if readsPages(g) {
		d.text("allow_hosts")
		for _, host := range g.AllowHosts {
			d.text(host)
		}
	}
	return d.sum()
}

// readsPages reports whether a check of the gate belongs to the network phase.
func readsPages(g *dag.Gate) bool {
	return slices.ContainsFunc(g.Checks, func(c *dag.Check) bool {
		info, ok := dag.LookupCheck(c.Kind)
		return ok && info.Phase == dag.Network
	})
}

// digestOver is the digest of a gate that reads recorded pages: a verdict over
// those is never taken for one over the web, nor for one over another recording.
func digestOver(digest dag.Digest, g *dag.Gate, pages Pages) dag.Digest {
	source := pages.Source()
	if source.IsZero() || !readsPages(g) {
		return digest
	}
	d := newDigester("gate over pages")
	d.digest(digest)
	d.digest(source)
	return d.sum()
}

// acceptKey is what a verdict is recorded under. A second run, and a run after a
// crash, hand in the same candidates: their verdicts are looked up before any
// check, so that a candidate does not meet its own record.
//
// What is only recorded (a stop, an arm with `as`) does not depend on the gate's
// checks, so an edit of the gate does not count it a second time.
func (g *Gate) acceptKey(c *Candidate, candidate dag.Digest) key {
	d := newDigester("accept")
	d.text(g.o.Pipeline)
	d.text(c.Key)
	d.digest(candidate)
	if c.Stop == nil && c.As == "" {
		d.digest(g.digest)
	}
	sum := d.sum()
	return key(sum[:16])
}

// stopDigest is what tells one stop of an item from another. The message is left
// out: it is for people and may hold a time.
func stopDigest(s *Stop) dag.Digest {
	d := newDigester("stop")
	d.text(string(s.End))
	d.text(string(s.Code))
	d.text(string(s.Cause))
	d.text(s.Status)
	d.text(s.Stage)
	d.number(s.Pass)
	d.digest(s.Item)
	return d.sum()
}

// candidateDigest covers what the checks may read: the members, the findings, and
// who made what from what. Times are left out: they decide nothing.
func candidateDigest(c *Candidate, members []dag.Member, docs []dag.Doc) dag.Digest {
	d := newDigester("candidate")
	d.text(string(c.As))
	d.text(string(c.Code))
	for i, m := range members {
		d.text(m.Name)
		d.digest(docs[i].Digest)
	}
	d.number(len(c.Findings))
	for _, f := range c.Findings {
		d.text(string(f.Code))
		d.text(string(f.Triage))
		d.text(string(f.Noted))
		d.flag(f.Shadow)
	}
	for _, v := range c.Facts {
		if v.Stale {
			continue
		}
		d.text(v.Stage)
		d.number(v.Pass)
		d.text(v.Plugin)
		d.text(v.Provider)
		d.text(v.Model)
		d.digest(v.Input)
		d.digest(v.Output)
	}
	return d.sum()
}

// digester gathers parts so that no two lists of parts run into one, and hashes
// them at the end: each is a few bytes, and a hash is dear to start.
type digester struct{ b []byte }

// digesters keeps their buffers: two are needed for each candidate.
var digesters = sync.Pool{New: func() any { return &digester{make([]byte, 0, 2<<10)} }}

func newDigester(what string) *digester {
	d := digesters.Get().(*digester)
	d.b = d.b[:0]
	d.text("penstock gate 1 " + what)
	return d
}

func (d *digester) text(s string) {
	d.number(len(s))
	d.b = append(d.b, s...)
}

func (d *digester) number(n int) { d.b = binary.LittleEndian.AppendUint64(d.b, uint64(n)) }

func (d *digester) flag(b bool) {
	if b {
		d.number(1)
		return
	}
	d.number(0)
}

func (d *digester) digest(x dag.Digest) { d.b = append(d.b, x[:]...) }

func (d *digester) expr(e dag.Expr) {
	if e == nil {
		d.digest(dag.Digest{})
		return
	}
	d.digest(e.Digest())
}

func (d *digester) stage(s *dag.Stage) {
	if s == nil {
		d.text("")
		return
	}
	d.text(s.Name)
}

// sum ends the digester.
func (d *digester) sum() dag.Digest {
	sum := dag.Sum(d.b)
	if cap(d.b) <= 64<<10 {
		digesters.Put(d)
	}
	return sum
}
