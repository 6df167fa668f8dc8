package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/staging"
)

// answers keeps what came of completions in the store, and answers equal requests
// from there.
type answers struct{ engine *engine }

// Words of an action that is an answer.
const (
	// unusable marks an answer that a stage could not use: it answers the run that
	// paid for it, which must not pay for it twice, and no later one.
	unusable = "unusable"
	// answerStage stands where the action of a visit names its stage.
	answerStage = "completion"
)

func (a answers) Get(ctx context.Context, key dag.Digest) ([]byte, dag.Completion, bool) {
	made, ok, err := a.engine.store.Action(key)
	if err != nil || !ok || !a.engine.mayReuse(ctx, made) || made.Word == unusable && made.Run != a.engine.runID {
		return nil, dag.Completion{}, false
	}
	b, err := a.engine.store.Read(made.OutputRef, made.Output)
	if err != nil {
		return nil, dag.Completion{}, false
	}
	kept := dag.Completion{Answer: made.Output} // of an action of a version that kept no more
	if len(made.Completions) == 1 {
		kept = made.Completions[0]
	}
	kept.Keys = []dag.Digest{key}
	return b, kept, true
}

func (a answers) Keep(keys []dag.Digest, kept *completion.Kept) dag.Completion {
	c, err := a.keep(keys, kept)
	if err != nil {
		a.engine.unkept.Do(func() { a.engine.Report.Warn(fmt.Sprintf("a paid answer could not be kept: %v", err)) })
		return dag.Completion{}
	}
	return c
}

func (a answers) keep(keys []dag.Digest, kept *completion.Kept) (dag.Completion, error) {
	store := a.engine.store
	put := func(document []byte) (dag.Digest, staging.Ref, error) {
		if document == nil {
			return dag.Digest{}, staging.Ref{}, nil
		}
		doc := dag.NewDoc(document)
		ref, err := store.Put(doc)
		return doc.Digest, ref, err
	}
	var c dag.Completion
	var ref staging.Ref
	var err error
	if c.Request, _, err = put(kept.Request); err != nil {
		return c, err
	}
	if c.Raw, _, err = put(kept.Raw); err != nil {
		return c, err
	}
	if c.Schema, _, err = put(kept.Schema); err != nil {
		return c, err
	}
	if c.Answer, ref, err = put(kept.Answer); err != nil {
		return c, err
	}
	for _, key := range keys {
		err = store.PutAction(&staging.Action{Digest: key, Stage: answerStage, Output: c.Answer, OutputRef: ref, Run: a.engine.runID,
			Completions: []dag.Completion{c}, Facts: dag.Facts{EndedAt: a.engine.Now()}})
		if err != nil {
			return c, err
		}
	}
	c.Keys = keys
	if len(keys) == 0 {
		return c, nil
	}
	return c, store.Write() // a run that is killed now has paid for it, and must not again
}

// Refused tells what a server said of a schema that it cannot use.
func (a answers) Refused(ctx context.Context, key dag.Digest) (string, bool) {
	made, ok, err := a.engine.store.Action(key)
	if err != nil || !ok || made.Failure == nil || !a.engine.mayReuse(ctx, made) {
		return "", false
	}
	return made.Failure.Message, true
}

// Refuse remembers it: the action is a failure, and has no output.
func (a answers) Refuse(key dag.Digest, said string) {
	err := a.engine.store.PutAction(&staging.Action{Digest: key, Stage: answerStage, Run: a.engine.runID,
		Failure: dag.Fail(dag.EPlugin, "%s", said), Facts: dag.Facts{EndedAt: a.engine.Now()}})
	if err != nil {
		a.engine.Report.Warn(fmt.Sprintf("what a server cannot use could not be kept: %v", err))
	}
}

// unfit marks the answers of a visit whose stage could not use what the model
// wrote. A later run that visits the item again, since something was mended, asks
// the model again; the answers stay to be looked at.
func (e *engine) unfit(failure *dag.Failure, given []dag.Completion) error {
	if failure == nil || !slices.Contains([]dag.Code{dag.EMalformed, dag.EOutput}, failure.Code) {
		return nil
	}
	for _, c := range given {
		for _, key := range c.Keys {
			made, ok, err := e.store.Action(key)
			if err != nil {
				return err
			}
			if !ok || made.Word == unusable {
				continue
			}
			made.Word = unusable
			if err := e.store.PutAction(made); err != nil {
				return err
			}
		}
	}
	return nil
}
