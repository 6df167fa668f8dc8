// Package staging is the store of a workspace: artifacts under their hash, what
// actions came to, the trails of items, claims, and the journal of runs.
//
// internal/engine writes it while it drives items, and the commands that show,
// explain and plan read it. Several processes use one store at a time.
//
// It refuses to be believed: every document is verified when it is read, every
// record bears a checksum, and what is damaged, torn or gone counts as absent,
// to be made again. It decides nothing about items.
//
// All files are append-only. Artifacts are lines of segments; state is in logs
// of checksummed frames with an index in memory, because a no-op that asks a
// database for every item costs four times as much, and a database keyed by
// digest turns each visit into a random page write.
package staging

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/penstock-run/penstock/dag"
)

// Version is the layout of staging/ that this package writes.
const Version = 1

// Options say how to open a store.
type Options struct {
	ReadOnly bool             // write nothing at all; a store that is not there is an empty one
	RunID    string           // who claims; empty: this process claims nothing
	Alone    bool             // have the store for this process alone, which a collection needs; others wait until Close
	Wait     bool             // with Alone: wait for living runs to end, instead of refusing
	Log      func(msg string) // told what was cut or damaged; must not use the store. Nil: nobody is told
}

// Store is an open staging folder. Its methods may be called from several
// goroutines.
type Store struct {
	dir, artifacts string
	readOnly       bool
	runID          string
	log            func(string)
	presence       *os.File // locked for as long as this store is open; nil: there was no store to lock

	flushing sync.Mutex // one Flush at a time; taken before mu
	mu       sync.Mutex // guards what follows; not held while documents and records are synced

	closed bool
	broken error // a sync failed: what the disk holds is no longer known

	segments    map[uint32]*segment
	retired     map[uint32]bool // segments that are not appended to
	own         *writer         // nil until the first Put
	lines       table           // digest → segment and offset
	linesLoaded bool
	lastSegment uint32 // highest number ever used, as recorded
	generation  int    // counts the times that others were seen to write
	bad         map[dag.Digest]struct{}
	recent      recent
	scratch     []byte
	unsynced    []*os.File
	puts        int // lines put since the last Flush

	recipes actionRecipes
	actions actionIndex
	trails  trailIndex
	intakes intakeIndex
	runs    runJournal
	claims  claimBook
}

// Open opens the store in dir, and makes one where there is none. A store of
// another layout is refused before anything is touched.
func Open(dir string, o Options) (*Store, error) {
	s := &Store{
		dir: dir, artifacts: filepath.Join(dir, "artifacts"), readOnly: o.ReadOnly, runID: o.RunID, log: o.Log,
		segments: map[uint32]*segment{}, retired: map[uint32]bool{}, bad: map[dag.Digest]struct{}{},
	}
	if s.log == nil {
		s.log = func(string) {}
	}
	if err := s.checkVersion(); err != nil {
		return nil, err
	}
	if err := s.enterStore(o); err != nil {
		return nil, err
	}
	s.recipes.open(s)
	s.actions.open(s)
	s.trails.open(s)
	s.runs.open(s)
	s.claims.open(s)
	if !o.ReadOnly && o.RunID != "" {
		if err := s.beAlive(); err != nil {
			s.leaveStore()
			return nil, err
		}
	}
	return s, nil
}

func (s *Store) note(format string, args ...any) { s.log(fmt.Sprintf(format, args...)) }

func (s *Store) newLog(name string) appendLog {
	return appendLog{path: filepath.Join(s.dir, name), readOnly: s.readOnly, note: s.note}
}

// checkVersion reads, or writes, the layout's number.
func (s *Store) checkVersion() error {
	path := filepath.Join(s.dir, "VERSION")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.makeStore(path)
	}
	if err != nil {
		return storeError("open store", s.dir, err)
	}
	word, isOurs := strings.CutPrefix(strings.TrimSpace(string(text)), "penstock staging ")
	version, err := strconv.Atoi(word)
	if !isOurs || err != nil {
		return &dag.Error{Op: "open store", Subject: path, Kind: dag.KindConfig,
			Err:  errors.New("this is not the version of a staging folder"),
			Hint: "write `penstock staging " + strconv.Itoa(Version) + "` into it if the folder is Penstock's, else move the folder away"}
	}
	if version == Version {
		return nil
	}
	what, hint := "older", "move it away (mv "+s.dir+" "+s.dir+".old) and run again: everything in it is made anew"
	if version > Version {
		what, hint = "newer", "upgrade Penstock, or move the folder away (mv "+s.dir+" "+s.dir+".new)"
	}
	return &dag.Error{Op: "open store", Subject: s.dir, Kind: dag.KindConfig, Hint: hint,
		Err: fmt.Errorf("its layout is version %d, %s than the %d of this Penstock", version, what, Version)}
}

func (s *Store) makeStore(path string) error {
	if s.readOnly {
		return nil
	}
	if err := os.MkdirAll(s.artifacts, 0o755); err != nil {
		return storeError("make store", s.dir, err)
	}
	return replaceFile(path, []byte("penstock staging "+strconv.Itoa(Version)+"\n"))
}

func (s *Store) writable() error {
	switch {
	case s.broken != nil:
		return s.broken
	case s.closed:
		return storeError("write to store", s.dir, fs.ErrClosed)
	case s.readOnly:
		return storeError("write to store", s.dir, ErrReadOnly)
	}
	return nil
}

func (s *Store) touched(f *os.File) {
	for _, g := range s.unsynced {
		if g == f {
			return
		}
	}
	s.unsynced = append(s.unsynced, f)
}

// Dirty is how many artifacts, records and releases wait for Flush.
func (s *Store) Dirty() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.unwritten() + len(s.claims.asked) + len(s.claims.leaving) + len(s.unsynced)
	for _, l := range s.logs() {
		if l.dirty {
			n++
		}
	}
	return n
}

// unwritten is how many artifacts and records the kernel has not got.
func (s *Store) unwritten() int {
	n := s.puts
	for _, l := range s.logs() {
		n += len(l.starts)
	}
	return n
}

// Write hands actions and their artifacts over to the kernel, so that they outlive
// this process, however it ends. Durable they are with the next Flush. It is for what
// was paid for, and waits for no sync, not even for one that is under way: a record
// may be durable before its artifact is, which whoever reads it then finds absent.
func (s *Store) Write() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writeArtifacts(); err != nil {
		return err
	}
	for _, l := range []*appendLog{&s.recipes.log, &s.actions.log} {
		if err := l.flush(l.mark()); err != nil {
			return err
		}
	}
	return nil
}

// Flush makes everything that was put before it durable: first the artifacts,
// then the records that refer to them. Other methods may be called meanwhile.
// Where it fails for want of space, what was not written waits for the next
// Flush; where a sync fails, the store is done for and says so from then on.
func (s *Store) Flush() error {
	s.flushing.Lock()
	defer s.flushing.Unlock()

	s.mu.Lock()
	files, marks, err := s.flushArtifacts()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.syncAll(files); err != nil {
		return err
	}
	s.mu.Lock()
	files, err = s.flushLogs(marks)
	s.mu.Unlock()
	if synced := s.syncAll(files); err == nil {
		err = synced
	}
	return err
}

// logs are in the order in which they are written: a recipe is known before
// an action of it, an action before a trail over it.
func (s *Store) logs() [3]*appendLog {
	return [3]*appendLog{&s.recipes.log, &s.actions.log, &s.trails.log}
}

// flushArtifacts writes the buffered lines. The marks say how many records of
// each log refer to nothing later.
func (s *Store) flushArtifacts() (files []*os.File, marks [3]int, err error) {
	for i, l := range s.logs() {
		marks[i] = l.mark()
	}
	s.claims.depart()
	if s.unwritten() == 0 && len(s.unsynced) == 0 {
		return nil, marks, nil
	}
	if err := s.writeArtifacts(); err != nil {
		return nil, marks, err
	}
	if s.own != nil {
		s.own.writeIndex()
	}
	files, s.unsynced = s.unsynced, nil
	return files, marks, nil
}

// writeArtifacts writes the buffered lines, and notes what is to be synced.
func (s *Store) writeArtifacts() error {
	if err := s.writable(); err != nil {
		return err
	}
	if s.own != nil && s.puts > 0 {
		if err := samePlace(s.own.f, s.segmentPath(s.own.number)); err != nil {
			return err
		}
		if err := s.own.write(); err != nil {
			return err
		}
		s.touched(s.own.f)
	}
	s.puts = 0
	return nil
}

func (s *Store) flushLogs(marks [3]int) (files []*os.File, err error) {
	for i, l := range s.logs() {
		if err = l.flush(marks[i]); err != nil {
			break
		}
	}
	if err == nil {
		err = s.claims.giveUp()
	}
	for _, l := range s.logs() {
		if l.dirty {
			l.dirty = false
			files = append(files, l.f)
		}
	}
	return files, err
}

// syncAll makes files durable. A failure is not tried again: the kernel tells
// it once, and may have dropped what it could not write.
func (s *Store) syncAll(files []*os.File) error {
	for _, f := range files {
		if err := fdatasync(f); err != nil {
			err := storeError("sync", f.Name(), err)
			err.Hint = "check the disk, then run again: whatever is damaged will be made anew"
			s.mu.Lock()
			s.broken = err
			s.mu.Unlock()
			return err
		}
	}
	return nil
}

// Refresh takes note of what other processes wrote since the last look.
func (s *Store) Refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refresh()
}

func (s *Store) refresh() error {
	for _, l := range s.logs() {
		changed, err := l.refresh()
		if err != nil {
			return err
		}
		if changed {
			s.generation++
		}
	}
	return nil
}

// Close flushes, gives up every claim and lets go of the files.
func (s *Store) Close() error {
	err := s.Flush()
	s.flushing.Lock()
	defer s.flushing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return err
	}
	s.closed = true
	if released := s.claims.releaseAll(); err == nil {
		err = released
	}
	for _, l := range []*appendLog{&s.runs.log, &s.claims.log, &s.recipes.log, &s.actions.log, &s.trails.log} {
		l.close()
	}
	if s.own != nil {
		_ = s.own.index.Close()
	}
	for _, g := range s.segments {
		if g.f != nil {
			_ = g.f.Close()
		}
	}
	s.lines.free()
	s.actions.table.free()
	s.trails.free()
	s.intakes.free()
	s.beDead()
	s.leaveStore()
	return err
}
