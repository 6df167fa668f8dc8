package expr

import "github.com/penstock-run/penstock/dag"

// Coverage tells whether conditions cover every case.
type Coverage struct {
	Complete bool   // one of them holds whatever the documents say
	Missing  string // not Complete: a case that none covers, or why it cannot be told, in words
	Dead     []int  // indexes of conditions that can never be the first to hold
}

// Cover proves whether one of the conditions always holds.
func Cover(conds []dag.Expr) Coverage { return Coverage{Missing: "it cannot be told"} }
