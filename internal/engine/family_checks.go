package engine

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

// checkStates are the words of a check's state, by the number that stands for
// each in a record. The list only grows.
var checkStates = []string{"undecided", "held", "failed", "not_applicable"}

// Bits of what a check's result has: most have nothing but a name and a state.
const (
	checkShadow = 1 << iota
	checkFigure
	checkEvidence
	checkDetails
)

// appendChecks packs results. Kind and code are left out: the outline of the run
// has them under the check's name.
func appendChecks(b []byte, checks []gate.CheckResult) []byte {
	b = binary.AppendUvarint(b, uint64(len(checks)))
	for i := range checks {
		c := &checks[i]
		b = appendText(b, c.Name)
		b = append(b, byte(max(0, slices.Index(checkStates, c.State))), has(c))
		if c.Figure != nil {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(*c.Figure))
		}
		if c.Evidence != "" {
			b = appendText(b, c.Evidence)
		}
		if len(c.Details) == 0 {
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(c.Details)))
		for _, d := range c.Details {
			b = appendText(b, string(d.Code))
			b = appendText(b, d.At)
			b = appendText(b, d.Why)
			b = appendText(b, string(d.Cause))
		}
	}
	return b
}

func has(c *gate.CheckResult) (bits byte) {
	if c.Shadow {
		bits |= checkShadow
	}
	if c.Figure != nil {
		bits |= checkFigure
	}
	if c.Evidence != "" {
		bits |= checkEvidence
	}
	if len(c.Details) > 0 {
		bits |= checkDetails
	}
	return bits
}

// checks reads what appendChecks packed.
func (r *unpacker) checks() []gate.CheckResult {
	var checks []gate.CheckResult
	for range r.uint() {
		c := gate.CheckResult{Name: r.text()}
		state, has := r.byte(), r.byte()
		if int(state) < len(checkStates) {
			c.State = checkStates[state]
		}
		c.Shadow = has&checkShadow != 0
		if has&checkFigure != 0 {
			c.Figure = r.figure()
		}
		if has&checkEvidence != 0 {
			c.Evidence = r.text()
		}
		if has&checkDetails != 0 {
			for range r.uint() {
				c.Details = append(c.Details, gate.Detail{Code: dag.Code(r.text()), At: r.text(), Why: r.text(), Cause: dag.Code(r.text())})
			}
		}
		if r.bad {
			return nil
		}
		checks = append(checks, c)
	}
	return checks
}

func (r *unpacker) figure() *float64 {
	if len(r.b) < 8 {
		r.bad, r.b = true, nil
		return nil
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
	r.b = r.b[8:]
	return &f
}
