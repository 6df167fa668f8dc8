package dag

import (
	"fmt"
	"slices"
	"strings"
)

// Lock is what a pipeline's lock file holds: what each plugin that is not
// bundled was when somebody accepted it, and every failure code that was ever
// declared. A nil Lock is that of a pipeline without the file.
type Lock struct {
	File    string         // its name
	Plugins []LockedPlugin // by name
	Codes   []LockedCode   // by code
	// Unknown are entries that this version cannot read, as they are written.
	Unknown []string
}

// LockedPlugin is a plugin as it was accepted.
type LockedPlugin struct {
	Name    string
	Source  string // of its block; empty where Command is set
	Command []string
	Info    *PluginInfo // what it said of itself
	Pins    []Pin       // by platform and scheme
	Unknown LockExtra
	Pos     Pos
}

// LockedCode is a failure code that was declared once.
type LockedCode struct {
	Code    Code
	Retired bool // it may be missing in the pipeline: nothing new gets it
	Unknown LockExtra
	Pos     Pos
}

// LockExtra is what a newer version of Penstock wrote into an entry: it is kept
// as it is written.
type LockExtra struct {
	Members    []byte            // of the description, a JSON object; nil: none
	Attributes map[string]string // expressions of the entry's block, by name
}

// Pin identifies the files of a plugin on one platform.
type Pin struct {
	Platform string // "linux_amd64"; AnyPlatform
	Scheme   string // how the digest is made
	Digest   string // in hexadecimal, in the schemes that this version knows
}

// AnyPlatform is the platform of files that are the same everywhere: scripts.
const AnyPlatform = "any"

// Schemes of a Pin. One that changes its meaning gets another name.
const (
	PinFile  = "sha256" // of the bytes of one executable
	PinFiles = "files1" // of a list of executable, arguments and files
)

// KnownScheme tells whether this version can make digests of the scheme.
func KnownScheme(scheme string) bool { return scheme == PinFile || scheme == PinFiles }

// Bundled tells whether a plugin comes with Penstock, whose version covers it.
func (p *Plugin) Bundled() bool { return strings.HasPrefix(p.Source, "builtin/") }

// Shown is what a plugin is started from, for people.
func (p *Plugin) Shown() string {
	if p.Source != "" {
		return p.Source
	}
	return strings.Join(p.Command, " ")
}

// Plugin is the entry of a name; nil where there is none.
func (l *Lock) Plugin(name string) *LockedPlugin {
	if l == nil {
		return nil
	}
	for i := range l.Plugins {
		if l.Plugins[i].Name == name {
			return &l.Plugins[i]
		}
	}
	return nil
}

// Code is the entry of a failure code; nil where there is none.
func (l *Lock) Code(code Code) *LockedCode {
	if l == nil {
		return nil
	}
	for i := range l.Codes {
		if l.Codes[i].Code == code {
			return &l.Codes[i]
		}
	}
	return nil
}

// Names tells whether the entry is of what the pipeline starts for p.
func (k *LockedPlugin) Names(p *Plugin) bool {
	return k.Source == p.Source && slices.Equal(k.Command, p.Command)
}

// Shown is what the plugin was started from, for people.
func (k *LockedPlugin) Shown() string { return (&Plugin{Source: k.Source, Command: k.Command}).Shown() }

// Platforms of the entry, for people.
func (k *LockedPlugin) Platforms() string {
	var names []string
	for _, p := range k.Pins {
		if !slices.Contains(names, p.Platform) {
			names = append(names, p.Platform)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "no platform"
	}
	return strings.Join(names, ", ")
}

// LockWord says how a plugin stands to its lock. The list is closed and only
// ever grows.
type LockWord string

// The words of LockWord.
const (
	LockBundled   LockWord = "bundled"        // needs no lock
	LockNone      LockWord = "not_locked"     // the lock does not know it
	LockSame      LockWord = "locked"         // it is what was locked
	LockDiffers   LockWord = "differs"        // it is something else
	LockElsewhere LockWord = "other_platform" // locked, but not for this platform
	LockUnused    LockWord = "unused"         // locked, and not in the pipeline any more
	LockAbsent    LockWord = "absent"         // its files are not here, so nothing can be compared
)

// LockState is how a plugin stands to its lock.
type LockState struct {
	Word   LockWord
	Name   string
	Plugin *Plugin       // nil: it is not in the pipeline
	Locked *LockedPlugin // nil: it is not locked
	Pin    Pin           // what it is here
	File   string        // of the lock
}

// State compares a plugin's files with the lock.
func (l *Lock) State(p *Plugin, here Pin) LockState {
	s := LockState{Name: p.Name, Plugin: p, Pin: here, Locked: l.Plugin(p.Name)}
	if l != nil {
		s.File = l.File
	}
	switch {
	case p.Bundled():
		s.Word, s.Locked = LockBundled, nil
		return s
	case s.Locked == nil:
		s.Word = LockNone
		return s
	case !s.Locked.Names(p):
		s.Word = LockDiffers
		return s
	}
	s.Word = LockElsewhere
	for _, pin := range s.Locked.Pins {
		switch {
		case pin == here:
			s.Word = LockSame
			return s
		case pin.Platform == here.Platform && pin.Scheme == here.Scheme:
			s.Word = LockDiffers
		}
	}
	return s
}

// Unused are the entries of plugins that the pipeline does not have.
func (l *Lock) Unused(g *Graph) []LockState {
	var unused []LockState
	if l == nil {
		return nil
	}
	for i := range l.Plugins {
		k := &l.Plugins[i]
		if !slices.ContainsFunc(g.Plugins, func(p *Plugin) bool { return p.Name == k.Name && !p.Bundled() }) {
			unused = append(unused, LockState{Word: LockUnused, Name: k.Name, Locked: k, File: l.File})
		}
	}
	return unused
}

// String says how the plugin stands to its lock, in one line.
func (s LockState) String() string {
	switch s.Word {
	case LockBundled:
		return fmt.Sprintf("plugin %q comes with Penstock, which needs no lock", s.Name)
	case LockNone:
		return fmt.Sprintf("plugin %q is not locked: whatever %s is will be run", s.Name, s.Plugin.Shown())
	case LockSame:
		return fmt.Sprintf("plugin %q is the one that %s locks", s.Name, s.File)
	case LockElsewhere:
		if schemes := s.foreignSchemes(); schemes != "" {
			return fmt.Sprintf("plugin %q is locked for %s by a digest of the scheme %s, which this version of Penstock does not know", s.Name, s.Pin.Platform, schemes)
		}
		return fmt.Sprintf("plugin %q is locked for %s only: nothing is known of it on %s", s.Name, s.Locked.Platforms(), s.Pin.Platform)
	case LockUnused:
		return fmt.Sprintf("plugin %q (%s) is locked, and the pipeline does not have it any more", s.Name, s.Locked.Shown())
	case LockDiffers:
		if !s.Locked.Names(s.Plugin) {
			return fmt.Sprintf("plugin %q is locked as %s, and the pipeline starts %s", s.Name, s.Locked.Shown(), s.Plugin.Shown())
		}
		return fmt.Sprintf("plugin %q is not the one that %s locks: the %s of %s is %s, and %s is locked for %s",
			s.Name, s.File, s.Pin.Scheme, s.Plugin.Shown(), s.Pin.Short(), s.locked().Short(), s.Pin.Platform)
	}
	return string(s.Word)
}

// locked is the pin that stands where the plugin's should.
func (s LockState) locked() Pin {
	for _, pin := range s.Locked.Pins {
		if pin.Platform == s.Pin.Platform && pin.Scheme == s.Pin.Scheme {
			return pin
		}
	}
	return Pin{}
}

func (s LockState) foreignSchemes() string {
	var schemes []string
	for _, pin := range s.Locked.Pins {
		if pin.Platform == s.Pin.Platform && !KnownScheme(pin.Scheme) {
			schemes = append(schemes, pin.Scheme)
		}
	}
	return strings.Join(schemes, ", ")
}

// Short is the beginning of the digest, for people.
func (p Pin) Short() string { return p.Digest[:min(12, len(p.Digest))] }

// Vanished are the codes that were declared once, are not retired, and are
// missing in the pipeline.
func (l *Lock) Vanished(g *Graph) []LockedCode {
	var vanished []LockedCode
	if l == nil {
		return nil
	}
	for _, k := range l.Codes {
		if !k.Retired && g.FailureCode(k.Code) == nil {
			vanished = append(vanished, k)
		}
	}
	return vanished
}
