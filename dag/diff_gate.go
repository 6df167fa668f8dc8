package dag

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// gate compares the gates: the checks, and all the rest.
func (d *differ) gate() ([]Change, []Attribute) {
	var was, is []factBlock
	var before, after []fact
	if d.was.Gate != nil {
		was, before = checkBlocks(d.was), gateFacts(d.was.Gate)
	}
	if d.is.Gate != nil {
		is, after = checkBlocks(d.is), gateFacts(d.is.Gate)
	}
	pairChecks(was, is)
	rest := compareFacts(before, after)
	names := func(list []factBlock) (ids []string) {
		for _, b := range list {
			ids = append(ids, b.id)
		}
		return ids
	}
	order := compareOrder("checks", names(was), names(is))
	for i := range order { // told by the names of now
		order[i].Old, order[i].New = named(is, order[i].Old), named(is, order[i].New)
	}
	return compareBlocks(was, is), append(order, rest...)
}

// named writes a list of ids as the names of those blocks.
func named(list []factBlock, ids string) string {
	words := strings.Split(ids, ", ")
	for i, id := range words {
		for _, b := range list {
			if b.id == id {
				words[i] = b.name
			}
		}
	}
	return strings.Join(words, ", ")
}

func gateFacts(g *Gate) []fact {
	var l factList
	l.expr("bucket", g.Bucket)
	l.stage("hold", g.Hold)
	l.count("concurrency", g.Concurrency)
	var members []string
	for _, m := range g.Candidate {
		l.expr("candidate."+m.Name, m.Expr)
		members = append(members, m.Name)
	}
	l.order("candidate.order", members)
	l.text("rejections", g.Rejections)
	l = append(l, fact{name: "undecided", text: g.Undecided, standard: g.Undecided == "review"})
	l.set("allow_hosts", g.AllowHosts)
	for i, owner := range g.SameOwner {
		l.list("same_owner."+strconv.Itoa(i), owner)
	}
	if c := g.Corpus; c != nil {
		l.word("corpus", c.Kind)
		l.expr("corpus.data", c.Data)
		l.text("corpus.evidence", c.Evidence)
		l.expr("corpus.id", c.ID)
		l.expr("corpus.record", c.Record)
		l.expr("corpus.evidence_record", c.EvidenceRecord)
	}
	if b := g.Breaker; b != nil {
		l.count("breaker.consecutive", b.Consecutive)
		var counts []string
		for _, end := range b.Counts {
			counts = append(counts, string(end))
		}
		l.set("breaker.counts", counts)
	}
	if r := g.Review; r != nil {
		l.word("review", "declared")
		l.expr("review.subject", r.Subject)
		l.expr("review.target", r.Target)
		l.expr("review.question", r.Question)
		l.expr("review.purpose", r.Purpose)
	}
	return l
}

// checkBlocks describes the checks. Several may have one name, which is then
// told with a number.
func checkBlocks(g *Graph) []factBlock {
	count, blocks := map[string]int{}, make([]factBlock, len(g.Gate.Checks))
	for _, c := range g.Gate.Checks {
		count[checkName(c)]++
	}
	seen := map[string]int{}
	for i, c := range g.Gate.Checks {
		name := checkName(c)
		seen[name]++
		blocks[i] = factBlock{name: name, facts: checkFacts(g, c)}
		if count[name] > 1 {
			blocks[i].name += " #" + strconv.Itoa(seen[name])
		}
	}
	return blocks
}

func checkName(c *Check) string {
	if c.Name == "" || c.Name == string(c.Kind) {
		return string(c.Kind)
	}
	return fmt.Sprintf("%s %s", c.Kind, c.Name)
}

func checkFacts(g *Graph, c *Check) []fact {
	var l factList
	l.code("code", c.Code)
	l.expr("if", c.If)
	l.triage("triage", c.Triage, c.Code, g)
	l = append(l, fact{name: "ends", text: strconv.FormatBool(c.Ends), standard: c.Ends == (c.Kind == "schema")})
	l.mode("mode", c.Mode)
	l.text("message", c.Message)
	info, _ := LookupCheck(c.Kind)
	known := map[string]bool{}
	for _, arg := range info.Args {
		known[arg.Name] = true
		switch {
		case arg.Type == "stage":
			l.stage(arg.Name, c.Stage)
		case arg.Type == "stages":
			l.stages(arg.Name, c.Of)
		case arg.Type == "schema":
			l.schema(arg.Name, c.Schema)
		default:
			l.expr(arg.Name, c.Args[arg.Name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		if !known[name] {
			l.expr(name, c.Args[name])
		}
	}
	return l
}

// pairChecks gives the checks of both gates ids, so that the same check has the
// same one. Checks of one name are paired by what they have in common: first
// those that are equal, then those with the fewest changes, in order.
func pairChecks(was, is []factBlock) {
	next := 0
	pair := func(old, new *factBlock) {
		next++
		old.id = strconv.Itoa(next)
		new.id = old.id
	}
	family := func(b *factBlock) string { name, _, _ := strings.Cut(b.name, " #"); return name }
	for {
		var best [2]*factBlock
		fewest := -1
		for i := range is {
			for j := range was {
				old, new := &was[j], &is[i]
				if old.id != "" || new.id != "" || family(old) != family(new) {
					continue
				}
				if n := len(compareFacts(old.facts, new.facts)); fewest < 0 || n < fewest {
					best, fewest = [2]*factBlock{old, new}, n
				}
			}
		}
		if fewest < 0 {
			break
		}
		pair(best[0], best[1])
	}
	for _, list := range [][]factBlock{was, is} {
		for i := range list {
			if list[i].id == "" {
				next++
				list[i].id = strconv.Itoa(next)
			}
		}
	}
}
