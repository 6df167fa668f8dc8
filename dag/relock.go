package dag

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// LockChange is one thing that a lock would have to change to be as the
// pipeline is.
type LockChange struct {
	What   LockAct `json:"what"`
	Plugin string  `json:"plugin,omitempty"`
	Code   Code    `json:"code,omitempty"`
	Why    string  `json:"why"` // how the lock stands to the pipeline, in one line
	Did    string  `json:"did"` // what the change does about it, in one line
}

// LockAct is what is done to an entry. The list only ever grows.
type LockAct string

// The words of LockAct.
const (
	LockAdd    LockAct = "add"
	LockUpdate LockAct = "update"
	LockRemove LockAct = "remove"
	LockRetire LockAct = "retire" // a failure code
	LockRevive LockAct = "revive" // a failure code that was retired
)

// AcceptedPlugin is a plugin as somebody accepts it.
type AcceptedPlugin struct {
	Plugin *Plugin
	Info   *PluginInfo // nil: as the lock has it
	Pin    Pin
}

// Update gives the lock that a pipeline should have, where its plugins are
// accepted as they are and the codes of retire may vanish, and what changes by
// that. Digests of other platforms stand as long as the plugin says the same of
// itself: else they are of an older one. The lock itself is not touched; a nil
// one is empty.
func (l *Lock) Update(g *Graph, plugins []AcceptedPlugin, retire []Code) (*Lock, []LockChange) {
	u := &relock{old: l, lock: &Lock{}}
	if l != nil {
		u.lock.File, u.lock.Unknown = l.File, slices.Clone(l.Unknown)
	}
	u.codes(g, retire)
	for _, a := range plugins {
		if !a.Plugin.Bundled() {
			u.plugin(a)
		}
	}
	for _, s := range l.Unused(g) {
		u.change(LockChange{What: LockRemove, Plugin: s.Name, Why: s.String(), Did: fmt.Sprintf("removed plugin %q", s.Name)})
	}
	slices.SortFunc(u.lock.Plugins, func(a, b LockedPlugin) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(u.changes, func(a, b LockChange) int {
		return strings.Compare(string(a.Code)+" "+a.Plugin, string(b.Code)+" "+b.Plugin)
	})
	slices.SortFunc(u.lock.Codes, func(a, b LockedCode) int { return strings.Compare(string(a.Code), string(b.Code)) })
	return u.lock, u.changes
}

type relock struct {
	old, lock *Lock
	changes   []LockChange
}

func (u *relock) change(c LockChange) { u.changes = append(u.changes, c) }

func (u *relock) codes(g *Graph, retire []Code) {
	change := func(what LockAct, code Code, why, did string) {
		u.change(LockChange{What: what, Code: code, Why: fmt.Sprintf("failure code %s %s", code, why), Did: fmt.Sprintf(did, code)})
	}
	for _, f := range g.Codes {
		k := LockedCode{Code: f.Code, Retired: f.Retired}
		old := u.old.Code(f.Code)
		if old != nil {
			k.Unknown = old.Unknown
		}
		switch {
		case old == nil:
			change(LockAdd, f.Code, "is not locked", "added failure code %s")
		case f.Retired && !old.Retired:
			change(LockRetire, f.Code, "is retired in the pipeline, and not in the lock", "retired failure code %s")
		case !f.Retired && old.Retired:
			change(LockRevive, f.Code, "is retired in the lock, and not in the pipeline", "took failure code %s into use again")
		}
		u.lock.Codes = append(u.lock.Codes, k)
	}
	if u.old == nil {
		return
	}
	for _, k := range u.old.Codes {
		if g.FailureCode(k.Code) != nil {
			continue
		}
		if !k.Retired && slices.Contains(retire, k.Code) {
			k.Retired = true
			change(LockRetire, k.Code, "is not in the pipeline any more", "retired failure code %s")
		}
		u.lock.Codes = append(u.lock.Codes, k)
	}
}

func (u *relock) plugin(a AcceptedPlugin) {
	p := a.Plugin
	state := u.old.State(p, a.Pin)
	k := LockedPlugin{Name: p.Name, Source: p.Source, Command: slices.Clone(p.Command), Info: a.Info, Pins: []Pin{a.Pin}}
	c := LockChange{What: LockAdd, Plugin: p.Name, Why: state.String(), Did: "locked " + k.here(a.Pin)}
	same := true // what it says of itself
	var dropped []string
	if old := state.Locked; old != nil {
		k.Unknown = old.Unknown
		if k.Info == nil {
			k.Info = old.Info
		}
		c.What, c.Did = LockUpdate, "accepted "+k.here(a.Pin)
		same = old.Names(p) && sameInfo(old.Info, k.Info)
		for _, pin := range old.Pins {
			here := pin.Platform == a.Pin.Platform
			replaced := here && (pin.Scheme == a.Pin.Scheme || state.Word == LockDiffers)
			switch {
			case replaced:
			case same:
				k.Pins = append(k.Pins, pin)
			case !slices.Contains(dropped, pin.Platform):
				dropped = append(dropped, pin.Platform)
			}
		}
	}
	if len(dropped) > 0 {
		c.Did += "; dropped " + strings.Join(dropped, ", ") + ", which was locked for another description of it"
	}
	sortPins(k.Pins)
	u.lock.Plugins = append(u.lock.Plugins, k)
	if state.Word == LockSame && !same {
		c.Why = fmt.Sprintf("plugin %q says something else of itself than when it was locked, and its files are the same", p.Name)
	}
	if state.Word != LockSame || !same {
		u.change(c)
	}
}

// here is the plugin on one platform, for people.
func (k *LockedPlugin) here(pin Pin) string {
	words := fmt.Sprintf("plugin %q", k.Name)
	if k.Info != nil && k.Info.Version != "" {
		words += " " + k.Info.Version
	}
	platform := "on " + pin.Platform
	if pin.Platform == AnyPlatform {
		platform = "on any platform"
	}
	return fmt.Sprintf("%s %s: the %s of %s is %s", words, platform, pin.Scheme, k.Shown(), pin.Short())
}

func sortPins(pins []Pin) {
	slices.SortFunc(pins, func(a, b Pin) int { return strings.Compare(a.Platform+" "+a.Scheme, b.Platform+" "+b.Scheme) })
}

// sameInfo compares descriptions; an empty list is as none.
func sameInfo(a, b *PluginInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.Version == b.Version && a.Behaviour == b.Behaviour && a.Kind == b.Kind && a.WireVersion == b.WireVersion &&
		a.Deterministic == b.Deterministic && a.Batches == b.Batches &&
		slices.Equal(a.Outcomes, b.Outcomes) && slices.Equal(a.Codes, b.Codes) && slices.Equal(a.Services, b.Services) && sameFields(a.Config, b.Config)
}

func sameFields(a, b []ConfigField) bool {
	return slices.EqualFunc(a, b, func(a, b ConfigField) bool {
		blocks := (a.Block == nil) == (b.Block == nil) && sameFields(a.Block, b.Block)
		a.Block, b.Block = nil, nil
		return blocks && reflect.DeepEqual(a, b)
	})
}
