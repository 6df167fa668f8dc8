package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/internal/staging"
)

// LockOptions say whose lock is looked at or written.
type LockOptions struct {
	Dir   string // the pipeline's directory
	File  string // of the lock, in Dir
	Graph *dag.Graph
	// Describe gives what a plugin says of itself; it may start it.
	Describe func(*dag.Plugin) (*dag.PluginInfo, error)
	Memo     host.Memo  // remembers digests of files between runs; may be nil
	Retire   []dag.Code // codes that the pipeline does not declare any more
	// written is called between the new file's last byte and its name: a test
	// ends the process there.
	written func()
}

// LockReport is what WriteLock did.
type LockReport struct {
	File    string           `json:"file"`
	Written bool             `json:"written"`
	Created bool             `json:"created"` // there was none
	Changes []dag.LockChange `json:"changes"`
}

// WriteLock accepts the plugins of a pipeline as they are, and its failure
// codes as they are declared, and writes that into the lock file.
//
// What another process wrote in the meantime is not lost: the file is read
// again, and replaced by one rename, under a lock on the pipeline's directory.
func WriteLock(o LockOptions) (*LockReport, error) {
	plugins, err := o.accept()
	if err != nil {
		return nil, err
	}
	report := &LockReport{File: o.File}
	err = o.replace(func(old []byte) ([]byte, error) {
		var lock *dag.Lock
		if old != nil {
			read, diags := lang.ReadLock(o.File, old)
			if diags.HasErrors() {
				return nil, lockError(o.File, diags.Errs()[0])
			}
			lock = read
		}
		if err := o.mayVanish(lock); err != nil {
			return nil, err
		}
		lock, report.Changes = lock.Update(o.Graph, plugins, o.Retire)
		report.Created = old == nil
		text, err := lang.FormatLock(lock)
		report.Written = err == nil && !bytes.Equal(text, old)
		return text, err
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

func lockError(file string, err error) *dag.Error {
	return &dag.Error{Op: "write lock", Subject: file, Kind: dag.KindConfig, Err: err}
}

// accept asks every plugin what it is. Its files are hashed before and after, so
// that what is said of it and what it is belong together.
func (o *LockOptions) accept() ([]dag.AcceptedPlugin, error) {
	h := host.New(host.Options{Dir: o.Dir, Memo: o.Memo})
	var plugins []dag.AcceptedPlugin
	for _, p := range o.Graph.Plugins {
		if p.Bundled() {
			continue
		}
		before, err := h.Pin(p)
		if err != nil {
			return nil, err
		}
		info, err := o.Describe(p)
		if err != nil {
			return nil, err
		}
		after, err := h.Pin(p)
		if err != nil {
			return nil, err
		}
		if before != after {
			return nil, &dag.Error{Op: "lock plugin", Subject: p.Name, Kind: dag.KindDiffers, Err: fmt.Errorf("%s changed meanwhile", p.Shown()), Hint: lockHint}
		}
		plugins = append(plugins, dag.AcceptedPlugin{Plugin: p, Info: info, Pin: after})
	}
	return plugins, nil
}

// mayVanish refuses codes that vanish unasked, and askings for codes that do not.
func (o *LockOptions) mayVanish(lock *dag.Lock) error {
	for _, code := range o.Retire {
		if f := o.Graph.FailureCode(code); f != nil && !f.Retired {
			err := lockError(o.File, fmt.Errorf("the pipeline declares %s", code))
			err.Hint = "write `retired = true` into its block at " + f.Pos.String() + ", or remove the block"
			return err
		}
		if lock.Code(code) == nil {
			return lockError(o.File, fmt.Errorf("no code %s was ever locked%s", code, meant(string(code), lock)))
		}
	}
	var lost []string
	for _, k := range lock.Vanished(o.Graph) {
		if !slices.Contains(o.Retire, k.Code) {
			lost = append(lost, string(k.Code))
		}
	}
	if len(lost) > 0 {
		err := lockError(o.File, fmt.Errorf("the pipeline does not declare %s, which the lock knows by now", strings.Join(lost, ", ")))
		err.Hint = lockHint + " --retire " + strings.Join(lost, " --retire ")
		return err
	}
	return nil
}

func meant(code string, lock *dag.Lock) string {
	var known []string
	if lock != nil {
		for _, k := range lock.Codes {
			known = append(known, string(k.Code))
		}
	}
	if text := diag.DidYouMean(code, known); text != "" {
		return ". " + text
	}
	return ""
}

// replace gives the lock file another content, at once or not at all.
func (o *LockOptions) replace(content func(old []byte) ([]byte, error)) (err error) {
	dir, err := os.Open(o.Dir)
	if err != nil {
		return lockError(o.File, err)
	}
	defer dir.Close() // which ends the lock on it
	if err := staging.LockExclusive(dir); err != nil {
		return lockError(o.File, err)
	}
	path := filepath.Join(o.Dir, o.File)
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return lockError(o.File, err)
	}
	text, err := content(old)
	if err != nil || bytes.Equal(text, old) {
		return err
	}
	// The name is always the same, so that what a killed process leaves is
	// overwritten by the next.
	temp := path + ".tmp"
	if err := writeSynced(temp, text); err != nil {
		return lockError(o.File, errors.Join(err, os.Remove(temp)))
	}
	if o.written != nil {
		o.written()
	}
	if err := os.Rename(temp, path); err != nil {
		return lockError(o.File, errors.Join(err, os.Remove(temp)))
	}
	if err := dir.Sync(); err != nil {
		return lockError(o.File, err)
	}
	return nil
}

func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// PluginRow is a plugin of a pipeline, or of its lock, and how the two agree.
type PluginRow struct {
	Name     string       `json:"name"`
	Source   string       `json:"source"` // or the command
	Kind     string       `json:"kind,omitempty"`
	Version  string       `json:"version,omitempty"`
	Scheme   string       `json:"scheme,omitempty"`
	Digest   string       `json:"digest,omitempty"` // of what is here
	Platform string       `json:"platform,omitempty"`
	State    dag.LockWord `json:"state"`
	Message  string       `json:"message"`
}

// Plugins lists what a pipeline starts, and what its lock holds besides.
func Plugins(o LockOptions) ([]PluginRow, error) {
	h := host.New(host.Options{Dir: o.Dir, Memo: o.Memo})
	rows := []PluginRow{}
	for _, p := range o.Graph.Plugins {
		row, err := o.row(h, p)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	for _, s := range o.Graph.Lock.Unused(o.Graph) {
		rows = append(rows, PluginRow{Name: s.Name, Source: s.Locked.Shown(), Kind: s.Locked.Info.Kind, Version: s.Locked.Info.Version, State: s.Word, Message: s.String()})
	}
	return rows, nil
}

func (o *LockOptions) row(h *host.Host, p *dag.Plugin) (PluginRow, error) {
	row := PluginRow{Name: p.Name, Source: p.Shown()}
	var pin dag.Pin
	var absent error
	if !p.Bundled() {
		pin, absent = h.Pin(p)
	}
	state := o.Graph.Lock.State(p, pin)
	row.Scheme, row.Digest, row.Platform = pin.Scheme, pin.Digest, pin.Platform
	row.State, row.Message = state.Word, state.String()
	var info *dag.PluginInfo
	if state.Locked != nil && state.Locked.Names(p) {
		info = state.Locked.Info
	}
	if absent != nil {
		row.State, row.Message = dag.LockAbsent, absent.Error()
	} else if info == nil {
		var err error
		if info, err = o.Describe(p); err != nil {
			return row, err
		}
	}
	if info != nil {
		row.Kind, row.Version = info.Kind, info.Version
	}
	return row, nil
}
