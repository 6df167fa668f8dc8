package host

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/dag"
)

// runFolder is the private folder of one run: in it each process has its own,
// which is its scratch folder and holds its socket. A lock on a file in it tells
// whether its owner lives.
type runFolder struct {
	path  string
	owner *os.File // locked while we live
}

const (
	folderPrefix = "penstock-"
	ownerFile    = "owner"
)

// socketTail is the longest that go-plugin and its SDK add to the folder's path:
// two random numbers of ten digits.
const socketTail = len("/plugin-dir4294967295/plugin4294967295")

// makeRunFolder makes the folder in the first place where a socket's path fits.
func makeRunFolder(places []string) (*runFolder, error) {
	var problems []string
	for _, place := range places {
		name, err := randomName()
		if err != nil {
			return nil, err
		}
		if real, err := filepath.EvalSymlinks(place); err == nil {
			place = real // plugins may resolve it too, and say the socket's path so
		}
		path := filepath.Join(place, name)
		if length := len(path) + socketTail; length > maxSocketPath {
			problems = append(problems, fmt.Sprintf("under %s a socket's path would have %d bytes, the system takes %d", place, length, maxSocketPath))
			continue
		}
		sweep(place)
		folder, err := claim(path)
		if err == nil {
			return folder, nil
		}
		problems = append(problems, err.Error())
	}
	return nil, &dag.Error{Op: "make the plugins' folder", Kind: dag.KindInfrastructure, Code: dag.EUnavailable,
		Hint: "set TMPDIR to a folder with a short path that you may write to",
		Err:  errors.New(strings.Join(problems, "; "))}
}

func randomName() (string, error) {
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return folderPrefix + hex.EncodeToString(b[:]), nil
}

// claim makes the folder ours.
func claim(path string) (*runFolder, error) {
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, err
	}
	owner, err := os.OpenFile(filepath.Join(path, ownerFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	if err := unix.Flock(int(owner.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", owner.Name(), err), owner.Close())
	}
	// A sweeper may have seen the file before the lock was on it.
	if _, err := os.Lstat(owner.Name()); err != nil {
		return nil, errors.Join(err, owner.Close())
	}
	return &runFolder{path: path, owner: owner}, nil
}

func (f *runFolder) remove() error {
	err := os.RemoveAll(f.path)
	return errors.Join(err, f.owner.Close())
}

// sweep removes the folders of runs that were killed. Only what is ours by name,
// owner and mode is looked at, and only what nobody holds is removed.
func sweep(place string) {
	matches, err := filepath.Glob(filepath.Join(place, folderPrefix+"????????"))
	if err != nil {
		return
	}
	for _, path := range matches {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || !ownedByUs(info) {
			continue
		}
		fd, err := unix.Open(filepath.Join(path, ownerFile), unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			if errors.Is(err, unix.ENOENT) && time.Since(info.ModTime()) > time.Hour {
				_ = os.RemoveAll(path) // its maker died before it could lock it
			}
			continue
		}
		if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(path)
		}
		_ = unix.Close(fd)
	}
}
