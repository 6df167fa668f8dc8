//go:build linux

package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/dag"
)

// Disks that are really full and files that are really not writable.

// smallDisk mounts a file system of a size in memory.
func smallDisk(t *testing.T, kib int) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kib))
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("a small disk can only be mounted by the superuser")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// fillUp leaves so many KiB of a disk free. It gives what frees the rest again.
func fillUp(t *testing.T, dir string, free int) (empty func()) {
	t.Helper()
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		t.Fatal(err)
	}
	size := int64(stat.Bavail)*stat.Bsize - int64(free)<<10
	if size > 0 {
		if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != nil {
			t.Fatal(err)
		}
	}
	return func() { _ = os.Remove(ballast) }
}

// wholeLines says which files of a corpus do not end with a whole line.
func wholeLines(t *testing.T, dir string) {
	t.Helper()
	for path, content := range tree(t, dir) {
		if content != "" && !strings.HasSuffix(content, "}\n") {
			t.Errorf("%s ends in %q", path, content[max(0, len(content)-40):])
		}
	}
}

// A disk fills up at some point of the work: from there on candidates are parked,
// what stands in the files is whole, and with room again all is well.
func TestDiskFillsUp(t *testing.T) {
	for _, free := range []int{0, 4, 8, 12, 16, 24, 40, 80, 200, 256, 264, 300, 330} {
		t.Run(fmt.Sprintf("%d KiB free", free), func(t *testing.T) {
			dir, spec := smallDisk(t, 2048), plain(uniqueQuestion())
			o := options(t, dir, spec)
			if free < 256 { // the journal has its room
				g := mustOpen(t, o)
				judge(t, g, question("first", "First?"))
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
			}
			empty := fillUp(t, dir, free)
			accepted, parked := fillBuckets(t, o)
			if parked == 0 {
				t.Fatalf("%d candidates were accepted on a full disk", accepted)
			}
			wholeLines(t, dir)
			empty()
			again, still := fillBuckets(t, o)
			if still != 0 || again != fullItems {
				t.Errorf("with room again, %d are accepted and %d parked", again, still)
			}
			report, err := Audit(context.Background(), Options{Dir: dir, Gate: spec})
			if err != nil || !report.Clean() {
				t.Errorf("%+v %v", report, err)
			}
			if want := fullItems + map[bool]int{true: 1}[free < 256]; report.Records != want {
				t.Errorf("%d records, want %d", report.Records, want)
			}
		})
	}
}

const fullItems = 60

// fillBuckets hands in records of some size, each alone, and counts.
func fillBuckets(t *testing.T, o Options) (accepted, parked int) {
	t.Helper()
	ctx := context.Background()
	g, err := Open(ctx, o)
	if err != nil {
		if dag.KindOf(err) != dag.KindInfrastructure {
			t.Errorf("open: %v", err)
		}
		return 0, fullItems
	}
	for i := range fullItems {
		c := cardCandidate(fmt.Sprint(i), fmt.Sprintf("b%d", i%4), fmt.Sprintf(`{"q":"Question %d?","x":"%s"}`, i, strings.Repeat("x", 7000)))
		v, err := g.Commit(ctx, []*Evaluation{g.Evaluate(ctx, c)})
		if err == nil {
			err = v[0].Err
		}
		switch {
		case err == nil && v[0].End == dag.Accepted:
			accepted++
		case dag.KindOf(err) == dag.KindInfrastructure:
			parked++
		default:
			t.Fatalf("item %d: %+v, %v", i, v, err)
		}
	}
	if err := g.Close(); err != nil && dag.KindOf(err) != dag.KindInfrastructure {
		t.Errorf("close: %v", err)
	}
	return accepted, parked
}

// lockDown takes the right to write to a file or a folder, from the superuser with
// the flag that chattr(1) calls i, since he is not held by a mode.
func lockDown(t *testing.T, path string) (release func()) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		if err := os.Chmod(path, info.Mode().Perm()&^0o222); err != nil {
			t.Fatal(err)
		}
		release = func() { _ = os.Chmod(path, info.Mode().Perm()) }
		t.Cleanup(release)
		return release
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	const immutable = 0x10
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags|immutable)
	}
	if err != nil {
		t.Skipf("this file system takes no right from the superuser: %v", err)
	}
	release = func() { _ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags) }
	t.Cleanup(release)
	return release
}

// What cannot be written is parked, whatever it is; then it goes on.
func TestNotWritable(t *testing.T) {
	for _, tt := range []struct {
		name, path string // what is made unwritable
		others     bool   // other buckets go on
	}{
		{"the evidence", "meta/verification.jsonl", false},
		{"the journal", journalPath, false},
		{"a data file", "data/art.jsonl", true},
		{"the folder of a new bucket", "data", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, spec := filled(t)
			path := filepath.Join(dir, tt.path)
			release := lockDown(t, path)
			before := tree(t, dir)
			bucket := "art"
			if tt.path == "data" {
				bucket = "new"
			}
			judgeAlone := func(key, bucket string) error {
				g, err := Open(context.Background(), options(t, dir, spec))
				if err != nil {
					return err
				}
				defer g.Close()
				c := cardCandidate(key, bucket, fmt.Sprintf(`{"q":"%s?"}`, key))
				v, err := g.Commit(context.Background(), []*Evaluation{g.Evaluate(context.Background(), c)})
				if err != nil {
					return err
				}
				return v[0].Err
			}
			if err := judgeAlone("Blocked", bucket); dag.KindOf(err) != dag.KindInfrastructure {
				t.Errorf("%v", err)
			}
			if after := tree(t, dir); len(after) != len(before) || after["/data/art.jsonl"] != before["/data/art.jsonl"] || after["/meta/verification.jsonl"] != before["/meta/verification.jsonl"] {
				t.Error("something was written")
			}
			if tt.others {
				other := "music"
				if tt.path == "data" {
					other = "art"
				}
				if err := judgeAlone("Other", other); err != nil {
					t.Errorf("another bucket: %v", err)
				}
			}
			release()
			if err := judgeAlone("Blocked", bucket); err != nil {
				t.Errorf("once it is writable: %v", err)
			}
			report, err := Audit(context.Background(), Options{Dir: dir, Gate: spec})
			if want := 4 + map[bool]int{true: 1}[tt.others]; err != nil || !report.Clean() || report.Records != want {
				t.Errorf("%+v %v", report, err)
			}
		})
	}
}
