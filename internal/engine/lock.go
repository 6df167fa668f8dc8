package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
)

// lockHint is the command that makes a lock as the pipeline is.
const lockHint = "penstock plugin lock"

// checkLock compares the plugins with the lock before anything is started: one
// that differs is refused; what the lock does not know is said, and refused
// where the run was asked to keep to the lock.
func (e *engine) checkLock() error {
	var plugins []dag.AcceptedPlugin
	var states []dag.LockState
	var refused error
	for _, p := range e.Graph.Plugins {
		if p.Bundled() {
			continue
		}
		pin, err := e.host.Pin(p)
		if err != nil {
			return err
		}
		state := e.Graph.Lock.State(p, pin)
		refused = errors.Join(refused, host.Refused(state))
		states = append(states, state)
		plugins = append(plugins, dag.AcceptedPlugin{Plugin: p, Pin: pin})
	}
	_, changes := e.Graph.Lock.Update(e.Graph, plugins, nil)
	switch {
	case refused != nil:
		return refused
	case e.Locked && e.Graph.Lock == nil:
		return &dag.Error{Op: "check lock", Kind: dag.KindDiffers, Err: errors.New("the pipeline has no lock file"), Hint: lockHint}
	case e.Locked && len(changes) > 0:
		err := &dag.Error{Op: "check lock", Subject: e.Graph.Lock.File, Kind: dag.KindDiffers, Hint: lockHint}
		for _, c := range changes {
			err.Err = errors.Join(err.Err, errors.New(c.Why))
		}
		return err
	}
	e.noteLock(states, changes)
	return nil
}

// noteLock says what a run goes on without. A pipeline that has no lock is told
// of its plugins alone: its codes ask for nothing.
func (e *engine) noteLock(states []dag.LockState, changes []dag.LockChange) {
	var unlocked, codes []string
	for _, s := range states {
		switch s.Word {
		case dag.LockNone:
			unlocked = append(unlocked, fmt.Sprintf("%q", s.Name))
		case dag.LockElsewhere:
			e.Report.Warn(s.String() + "; `" + lockHint + "` adds it")
		}
	}
	for _, c := range changes {
		if c.What == dag.LockAdd && c.Code != "" && e.Graph.Lock != nil {
			codes = append(codes, string(c.Code))
		}
	}
	switch len(unlocked) {
	case 0:
	case 1:
		e.Report.Warn("plugin " + unlocked[0] + " is not locked; `" + lockHint + "` pins what it is")
	default:
		e.Report.Warn("plugins " + strings.Join(unlocked, ", ") + " are not locked; `" + lockHint + "` pins what they are")
	}
	if len(codes) > 0 {
		e.Report.Warn("the lock does not know " + strings.Join(codes, ", ") + "; `" + lockHint + "` adds them")
	}
}
