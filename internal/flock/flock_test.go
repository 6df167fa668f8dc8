package flock_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/internal/flock"
)

// A lock that another holds is waited for within bounds, and is there once it is free.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "held")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	one, two := open(), open()
	if err := flock.Lock(one, unix.LOCK_EX, 0); err != nil {
		t.Fatal(err)
	}
	for _, how := range []int{unix.LOCK_EX, unix.LOCK_SH} {
		if err := flock.Lock(two, how, 0); err == nil || !strings.Contains(err.Error(), "is a run stopped?") {
			t.Errorf("got %v while another holds it", err)
		}
	}
	if err := flock.Unlock(one); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{one, two} {
		if err := flock.Lock(f, unix.LOCK_SH, 0); err != nil {
			t.Errorf("two readers: %v", err)
		}
	}
	if err := flock.Lock(two, unix.LOCK_EX, 0); err == nil {
		t.Error("a writer beside a reader")
	}
}
