package engine

import (
	"context"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/internal/staging"
)

// reusable reports whether what was made for a stage at a time counts in this
// run. Where a stage, or -B, wants everything anew, what a run beside this one
// has made meanwhile is new enough: two runs at once do each thing once.
func (e *engine) reusable(s *dag.Stage, made time.Time) bool {
	switch {
	case e.Force, s.Cache != nil && !*s.Cache:
		return made.After(e.started)
	case s.HasMaxAge:
		return e.Now().Sub(made) <= s.MaxAge
	}
	return true
}

// ages reports whether a finished item may have visits that do not count any more.
func ages(g *dag.Graph) bool {
	for _, s := range g.Stages {
		if s.HasMaxAge || s.Cache != nil && !*s.Cache {
			return true
		}
	}
	return false
}

// finished reports whether nothing is left to do for an item whose trail was
// found: it has come to its end, and each of its visits still counts.
func (e *engine) finished(head staging.TrailHead) bool {
	if !head.Final || !e.Force && !e.aging && !e.choice.narrows() {
		return head.Final
	}
	trail, err := e.store.LoadTrail(head)
	if err != nil {
		return false
	}
	members, err := DecodeFamily(trail.Body)
	if err != nil {
		return false
	}
	done := len(e.retried(members)) == 0
	for _, m := range members {
		if m.Trail == nil {
			continue
		}
		for _, v := range m.Trail.Visits {
			if v.Action.IsZero() {
				continue
			}
			s := e.Graph.Stage(v.Stage)
			// All are asked, so that a rule which names any of them is known to.
			named := e.choice.rule(v.Stage, m.Key, members[0].Key) != nil && !v.Facts.EndedAt.After(e.started)
			done = done && !named && s != nil && e.reusable(s, v.Facts.EndedAt)
		}
	}
	return done
}

// stageKey is where the context of a completion bears the stage that asks.
type stageKey struct{}

func withStage(ctx context.Context, s *dag.Stage) context.Context {
	return context.WithValue(ctx, stageKey{}, s)
}

// mayReuse reports whether an answer that an action of the store holds may be
// given to the stage that asks.
func (e *engine) mayReuse(ctx context.Context, a *staging.Action) bool {
	s, ok := ctx.Value(stageKey{}).(*dag.Stage)
	if !ok || a.Run == e.runID {
		return ok
	}
	return e.reusable(s, a.Facts.EndedAt) && (!host.Anew(ctx) || a.Facts.EndedAt.After(e.started))
}
