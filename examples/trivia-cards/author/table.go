package main

import (
	"fmt"
	"strings"
)

// end is how a candidate ends, by the script.
func (c *Candidate) end() Expect {
	if c.Expect == nil {
		return Expect{End: "accepted"}
	}
	return *c.Expect
}

// way is what a candidate passes, from its crafter on. The repairer stands in
// it as "(repairer)" where there is nothing that it may change: it is not asked.
func (c *Candidate) way() []string {
	way := []string{c.crafter()}
	if c.Report == nil {
		return way
	}
	way = append(way, "verifier")
	last := c.Report
	if last.Status == "repair" {
		if c.Repaired == nil {
			return append(way, "(repairer)")
		}
		way = append(way, "repairer")
		if c.Rereport == nil {
			return way
		}
		way, last = append(way, "verifier"), c.Rereport
	}
	if last.Status == "" {
		way = append(way, "gate")
	}
	return way
}

// table is the README's: each batch and candidate that shows something, and
// then how all of them end.
func (s *Script) table() string {
	var b strings.Builder
	b.WriteString("| candidate | way | end | what it shows |\n| --- | --- | --- | --- |\n")
	for _, batch := range s.Batches {
		if batch.Expect != nil {
			fmt.Fprintf(&b, "| %s | topic_miner | %s | %s |\n", batch.key(), batch.Expect, batch.Shows)
			continue
		}
		for i, c := range batch.Candidates {
			if c.Shows != "" {
				fmt.Fprintf(&b, "| %s, %d: %s | %s | %s | %s |\n", batch.key(), i+1, c.Title, strings.Join(c.way(), " → "), c.end(), c.Shows)
			}
		}
	}
	return b.String()
}

// String is the end as the table shows it.
func (e Expect) String() string {
	s := e.End
	if e.Status != "" {
		s += ", status " + e.Status
	}
	if len(e.Codes) > 0 {
		s += " `" + strings.Join(e.Codes, "` `") + "`"
	}
	if e.Cause != "" {
		s += " (cause `" + e.Cause + "`)"
	}
	return s
}

// tally counts the ends of a whole run: the batches are items too.
func (s *Script) tally() map[string]int {
	n := map[string]int{}
	for _, batch := range s.Batches {
		if batch.Expect != nil {
			n[batch.Expect.End]++
			continue
		}
		n["expanded"]++
		for _, c := range batch.Candidates {
			n[c.end().End]++
		}
	}
	return n
}

// tallyLine is the tally in the order of the words.
func (s *Script) tallyLine() string {
	n := s.tally()
	var parts []string
	for _, end := range []string{"accepted", "rejected", "failed", "expanded"} {
		parts = append(parts, fmt.Sprintf("%d %s", n[end], end))
	}
	return strings.Join(parts, ", ")
}
