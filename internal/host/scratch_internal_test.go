package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/dag"
)

func TestRunFolderIsPrivateAndShort(t *testing.T) {
	place, err := os.MkdirTemp("", "p") // the test's own is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(place)
	long := filepath.Join(place, strings.Repeat("x", 100))
	f, err := makeRunFolder([]string{long, place})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(f.path)
	if err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(f.path) != place {
		t.Errorf("%v, %v", info, err)
	}
	if err := f.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.path); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestNoPlaceForSockets(t *testing.T) {
	long := "/" + strings.Repeat("x", 100)
	_, err := makeRunFolder([]string{long, "/no/such/place"})
	if err == nil {
		t.Fatal("it was made")
	}
	for _, part := range []string{
		"make the plugins' folder: under " + long + " a socket's path would have 157 bytes, the system takes ",
		"mkdir /no/such/place/penstock-",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if hint := err.(*dag.Error).Hint; hint != "set TMPDIR to a folder with a short path that you may write to" {
		t.Error(hint)
	}
}

// The sweep takes what the dead have left, and nothing else.
func TestSweep(t *testing.T) {
	place := t.TempDir()
	folder := func(name string, mode os.FileMode, owned bool) string {
		path := filepath.Join(place, name)
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
		if owned {
			if err := os.WriteFile(filepath.Join(path, ownerFile), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	living, err := claim(filepath.Join(place, "penstock-00000001"))
	if err != nil {
		t.Fatal(err)
	}
	dead := folder("penstock-00000002", 0o700, true)
	young := folder("penstock-00000003", 0o700, false)
	old := folder("penstock-00000004", 0o700, false)
	if err := os.Chtimes(old, time.Now().Add(-2*time.Hour), time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	open := folder("penstock-00000005", 0o755, true)
	other := folder("something-else", 0o700, true)
	victim := folder("victim", 0o700, true)
	link := filepath.Join(place, "penstock-00000006")
	if err := os.Symlink(victim, link); err != nil {
		t.Fatal(err)
	}
	sweep(place)
	for path, stays := range map[string]bool{living.path: true, dead: false, young: true, old: false, open: true, other: true, victim: true, link: true} {
		if _, err := os.Lstat(path); (err == nil) != stays {
			t.Errorf("%s: stays %v, want %v", filepath.Base(path), err == nil, stays)
		}
	}
	if err := living.remove(); err != nil {
		t.Error(err)
	}
}

// The lock goes with its holder, not with the file.
func TestClaimIsALock(t *testing.T) {
	f, err := claim(filepath.Join(t.TempDir(), "penstock-00000001"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.remove()
	second, err := os.Open(f.owner.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := unix.Flock(int(second.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EWOULDBLOCK {
		t.Errorf("locked twice: %v", err)
	}
}
