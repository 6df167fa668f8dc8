package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

// The locks of a corpus are flock(2) on files of their own beside the data, so
// that any program can take part (in Python: fcntl.flock, not fcntl.lockf, which
// locks something else). They are never deleted. There are two ranks, the
// corpus's state and the buckets, and one order: only a lock on the state has a
// method that locks buckets, so the other order does not compile.

// locker takes the locks of one corpus for one Gate. It is not for concurrent
// use: flock belongs to the open file, a second goroutine would not wait.
type locker struct {
	state   string // path of the lock on the state
	timeout time.Duration
	now     func() time.Time
	files   map[string]*lockFile // kept open: opening costs more than locking
	held    *heldState
	host    string
}

// lockFile keeps the *os.File: with its descriptor alone, the collector would
// close it some time.
type lockFile struct {
	*os.File
	id        fileID
	signed    time.Time // when this process signed it last, and with what
	signature string
}

const signatureSize = 256

// maxLockFiles bounds the lock files that are kept open between two commits.
const maxLockFiles = 128

func newLocker(state string, timeout time.Duration, now func() time.Time) *locker {
	host, _ := os.Hostname() // empty where there is none
	return &locker{state: state, timeout: timeout, now: now, files: map[string]*lockFile{}, host: host}
}

// heldState is the lock on a corpus's state, while it is held.
type heldState struct {
	l       *locker
	buckets []string
}

// Lock waits for the lock on the state, which comes before every other.
func (l *locker) Lock(ctx context.Context) (*heldState, error) {
	if l.held != nil {
		return nil, errors.New("the state is locked already; the state comes before its buckets, and once")
	}
	if err := l.acquire(ctx, l.state, false); err != nil {
		return nil, err
	}
	// Only here: whoever is at a bucket holds the state as well, and who waits for
	// both, waits for the state.
	l.sign(l.files[l.state])
	l.held = &heldState{l: l}
	return l.held, nil
}

// LockBuckets waits for the locks of these data files, in sorted order. Where one
// does not come, the error is an *errDataFile. isNew says whether the folder of a
// data file may be made.
func (h *heldState) LockBuckets(ctx context.Context, data []string, isNew func(data string) bool) error {
	if h.l.held != h {
		return errors.New("the lock on the state was given back before the buckets were locked")
	}
	if len(h.buckets) > 0 {
		return errors.New("the buckets of a commit are locked together, in sorted order, and once")
	}
	paths := make([]string, len(data))
	for i, path := range data {
		paths[i] = path + ".lock"
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		file := strings.TrimSuffix(path, ".lock")
		if err := h.l.acquire(ctx, path, isNew(file)); err != nil {
			h.unlockBuckets()
			if ctx.Err() != nil {
				return err
			}
			return &errDataFile{file, err}
		}
		h.buckets = append(h.buckets, path)
	}
	return nil
}

// Unlock gives everything back, in reverse order.
func (h *heldState) Unlock() {
	if h.l.held != h {
		return
	}
	h.unlockBuckets()
	h.l.release(h.l.state)
	h.l.held = nil
	if len(h.l.files) > maxLockFiles {
		h.l.close()
	}
}

func (h *heldState) unlockBuckets() {
	for _, path := range slices.Backward(h.buckets) {
		h.l.release(path)
	}
	h.buckets = nil
}

func (l *locker) release(path string) {
	if f := l.files[path]; f != nil {
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	}
}

func (l *locker) close() {
	for path, f := range l.files {
		_ = f.Close()
		delete(l.files, path)
	}
}

// acquire polls, because a flock that blocks cannot be cancelled, with a pause
// that grows to 20 ms and is drawn at random so that waiters do not march in step.
func (l *locker) acquire(ctx context.Context, path string, mkdir bool) error {
	started := time.Now()
	pause := time.Millisecond
	for {
		f, err := l.open(path, mkdir)
		if err != nil {
			return err
		}
		err = ignoringEINTR(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
		if err == nil {
			if id, err := (osDisk{}).id(path); err == nil && id == f.id {
				return nil
			}
			// The file was deleted or replaced: whoever comes next locks another.
			_ = f.Close()
			delete(l.files, path)
			continue
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("lock %s: %w", path, err)
		}
		if waited := time.Since(started); waited >= l.timeout {
			return &lockTimeout{path: path, waited: waited.Round(time.Millisecond), holder: describeHolder(f.File)}
		}
		wait := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("waiting for %s: %w", path, ctx.Err())
		case <-wait.C:
		}
		pause = min(pause*2, 20*time.Millisecond)
	}
}

func (l *locker) open(path string, mkdir bool) (*lockFile, error) {
	if f := l.files[path]; f != nil {
		return f, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if !mkdir {
			return nil, fmt.Errorf("the folder %s is gone", filepath.Dir(path))
		}
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the lock file: %w", err)
	}
	known, err := newFile(f, path)
	if err != nil {
		return nil, err
	}
	l.files[path] = &lockFile{File: f, id: known.id}
	return l.files[path], nil
}

// signature is who holds a lock, for those who wait.
type signature struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// resign is how old a signature may become while its process takes the lock again
// and again, as it does with each commit; writing costs more than reading.
const resign = time.Second

// sign writes who holds the lock into its file, always in as many bytes, so that
// the file does not change its size. It is a courtesy: an error changes nothing.
func (l *locker) sign(f *lockFile) {
	now := l.now()
	if age := now.Sub(f.signed); age >= 0 && age < resign {
		var have [signatureSize]byte
		if n, _ := f.ReadAt(have[:], 0); string(have[:n]) == f.signature {
			return
		}
	}
	text, err := json.Marshal(signature{os.Getpid(), l.host, now.UTC().Truncate(time.Millisecond)})
	if err != nil || len(text) >= signatureSize {
		return
	}
	f.signed, f.signature = now, string(text)+strings.Repeat(" ", signatureSize-1-len(text))+"\n"
	_, _ = f.WriteAt([]byte(f.signature), 0)
}

// lockTimeout says who holds a lock that did not come.
type lockTimeout struct {
	path   string
	waited time.Duration
	holder string
}

func (e *lockTimeout) Error() string {
	return fmt.Sprintf("%s was not free within %s: %s", e.path, e.waited, e.holder)
}

// describeHolder asks the kernel who holds the lock (Linux), and the lock file
// for the rest.
func describeHolder(f *os.File) string {
	pid, known := kernelHolder(f)
	var signed signature
	text := make([]byte, signatureSize)
	n, _ := f.ReadAt(text, 0)
	if json.Unmarshal(text[:n], &signed) == nil && signed.PID != 0 && (!known || pid == signed.PID) {
		return fmt.Sprintf("held by process %d on %s since %s", signed.PID, signed.Host, signed.Since.Format(time.RFC3339))
	}
	if known {
		return fmt.Sprintf("held by process %d", pid)
	}
	return "held by a program that does not say who it is"
}

// kernelHolder finds a lock's process in /proc/locks.
func kernelHolder(f *os.File) (pid int, known bool) {
	var stat unix.Stat_t
	if unix.Fstat(int(f.Fd()), &stat) != nil {
		return 0, false
	}
	table, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0, false
	}
	inode := fmt.Sprintf(":%d", stat.Ino)
	for line := range strings.Lines(string(table)) {
		// 1: FLOCK  ADVISORY  WRITE 1234 fd:00:5678 0 EOF
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || !strings.HasSuffix(fields[5], inode) {
			continue
		}
		if _, err := fmt.Sscan(fields[4], &pid); err == nil && pid > 0 {
			return pid, true
		}
	}
	return 0, false
}

func ignoringEINTR(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
