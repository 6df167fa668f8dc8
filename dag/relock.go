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
	Text   string  `json:"text"` // one line for people
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
		u.change(LockChange{What: LockRemove, Plugin: s.Name, Text: s.String()})
	}
	slices.SortFunc(u.lock.Plugins, func(a, b LockedPlugin) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(u.lock.Codes, func(a, b LockedCode) int { return strings.Compare(string(a.Code), string(b.Code)) })
	return u.lock, u.changes
}

type relock struct {
	old, lock *Lock
	changes   []LockChange
}

func (u *relock) change(c LockChange) { u.changes = append(u.changes, c) }

func (u *relock) codes(g *Graph, retire []Code) {
	for _, f := range g.Codes {
		k := LockedCode{Code: f.Code, Retired: f.Retired}
		old := u.old.Code(f.Code)
		if old != nil {
			k.Unknown = old.Unknown
		}
		switch {
		case old == nil:
			u.change(LockChange{What: LockAdd, Code: f.Code, Text: fmt.Sprintf("failure code %s is new", f.Code)})
		case f.Retired && !old.Retired:
			u.change(LockChange{What: LockRetire, Code: f.Code, Text: fmt.Sprintf("failure code %s is retired", f.Code)})
		case !f.Retired && old.Retired:
			u.change(LockChange{What: LockRevive, Code: f.Code, Text: fmt.Sprintf("failure code %s was retired, and is in use again", f.Code)})
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
			u.change(LockChange{What: LockRetire, Code: k.Code, Text: fmt.Sprintf("failure code %s is retired", k.Code)})
		}
		u.lock.Codes = append(u.lock.Codes, k)
	}
}

func (u *relock) plugin(a AcceptedPlugin) {
	p := a.Plugin
	state := u.old.State(p, a.Pin)
	k := LockedPlugin{Name: p.Name, Source: p.Source, Command: slices.Clone(p.Command), Info: a.Info, Pins: []Pin{a.Pin}}
	old := state.Locked
	if old != nil {
		k.Unknown = old.Unknown
		if k.Info == nil {
			k.Info = old.Info
		}
		same := old.Names(p) && sameInfo(old.Info, k.Info)
		for _, pin := range old.Pins {
			here := pin.Platform == a.Pin.Platform
			replaced := here && (pin.Scheme == a.Pin.Scheme || state.Word == LockDiffers)
			if same && !replaced {
				k.Pins = append(k.Pins, pin)
			}
		}
	}
	slices.SortFunc(k.Pins, func(a, b Pin) int { return strings.Compare(a.Platform+" "+a.Scheme, b.Platform+" "+b.Scheme) })
	u.lock.Plugins = append(u.lock.Plugins, k)
	switch {
	case old == nil:
		u.change(LockChange{What: LockAdd, Plugin: p.Name, Text: state.String()})
	case state.Word != LockSame:
		u.change(LockChange{What: LockUpdate, Plugin: p.Name, Text: state.String()})
	case !sameInfo(old.Info, k.Info):
		u.change(LockChange{What: LockUpdate, Plugin: p.Name, Text: fmt.Sprintf("plugin %q says something else of itself than when it was locked, and its files are the same", p.Name)})
	}
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
