package staging

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/flock"
)

// Whoever has a store open holds a shared lock on its VERSION, whose file is
// never replaced; a collection holds it exclusively. So what is collected is
// never under anybody's hands: positions that a process keeps in memory stay
// good for as long as it has the store open. The kernel gives the lock up with
// the process, however that ends.

const (
	// readersPatience is how long a collection waits for those who only look.
	readersPatience = 10 * time.Second
	// collectionPatience is how long others wait for a collection, which may
	// have to copy gigabytes.
	collectionPatience = 30 * time.Minute
)

// enterStore takes the lock. A store that is not there, and may not be made,
// needs none.
func (s *Store) enterStore(o Options) error {
	path := filepath.Join(s.dir, "VERSION")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && s.readOnly {
		return nil
	}
	if err != nil {
		return storeError("open store", s.dir, err)
	}
	if o.Alone {
		err = s.lockAlone(f, o.Wait)
	} else if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		s.note("waiting for `penstock gc`, which has %s for itself", s.dir)
		if err = flock.Lock(f, unix.LOCK_SH, collectionPatience); err != nil {
			err = storeError("lock", path, err)
		}
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	s.presence = f
	return nil
}

func (s *Store) leaveStore() {
	if s.presence != nil {
		_ = s.presence.Close()
		s.presence = nil
	}
}

// lockAlone takes the exclusive lock. Readers are waited for; a living run may
// go on for days, so it is named instead, unless the caller wants to wait.
func (s *Store) lockAlone(f *os.File, wait bool) error {
	told := false
	deadline := time.Now().Add(readersPatience)
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return storeError("lock", f.Name(), err)
		}
		run := s.livingRun()
		switch {
		case wait:
			if !told {
				told = true
				s.note("waiting for %s, which has %s open", describeHolder(run), s.dir)
			}
		case run != "", time.Now().After(deadline):
			return &dag.Error{Op: "collect", Subject: s.dir, Kind: dag.KindInfrastructure,
				Err:  fmt.Errorf("%s has it open and may take anything in it: nothing was removed", describeHolder(run)),
				Hint: "penstock gc --wait"}
		}
		time.Sleep(20 * time.Millisecond) // a blocked call could not be bounded
	}
}

func describeHolder(run string) string {
	if run == "" {
		return "another process"
	}
	return "run " + run
}

// livingRun names a run whose process lives; empty: there is none.
func (s *Store) livingRun() string {
	entries, err := os.ReadDir(filepath.Join(s.dir, "runs"))
	if err != nil {
		return ""
	}
	for _, entry := range entries {
		if run, ok := strings.CutSuffix(entry.Name(), ".lock"); ok && s.alive(run) {
			return run
		}
	}
	return ""
}
