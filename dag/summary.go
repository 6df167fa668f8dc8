package dag

// Summaries of the problems that a proof finds: constant words, so that a
// reader learns them by sight and a search for one leads here.
const (
	sumDeadEnd           = "Way that ends nowhere"
	sumDependent         = "Stages that are not independent"
	sumHeldBatch         = "Batch while a bucket is held"
	sumHeldQuestion      = "Question while a bucket is held"
	sumInvariantBroken   = "Invariant does not hold"
	sumNamedTwice        = "Stage named twice in a route"
	sumNoGate            = "Pipeline without a gate"
	sumNoRoute           = "Stage without a route"
	sumNoStage           = "Pipeline without a stage"
	sumNoStart           = "No start stage"
	sumOpenOutcome       = "Outcome without a way"
	sumRoutedTwice       = "Outcome routed twice"
	sumSeveralStarts     = "More than one start stage"
	sumTwoRoutes         = "Stage with two routes"
	sumUnbounded         = "Loop without a bound"
	sumUndeclaredOutcome = "Undeclared outcome"
	sumUnreachableGate   = "Unreachable gate"
	sumUnreachableStage  = "Unreachable stage"
)

// OfWays tells whether the problem is that items cannot go where they should, or
// where was not meant. What is concluded from the ways says little then.
func (p Problem) OfWays() bool {
	switch p.Summary {
	case sumNoRoute, sumTwoRoutes, sumOpenOutcome, sumDeadEnd, sumUnbounded, sumNoStart, sumSeveralStarts, sumUnreachableStage, sumUnreachableGate:
		return true
	}
	return false
}
