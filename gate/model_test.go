package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// The model of a disk that loses power. Every file keeps what was synced, and of
// what was written since any prefix, the last write of it cut anywhere, with or
// without zeros in place of what is missing; or all of it but one operation.
// A file or a rename that was not followed by a sync of its folder may be gone.

type modelDisk struct {
	files map[string]*modelFile
	// steps counts operations down; at zero the power goes.
	steps int
	// lazy, for the test of the test, makes a sync do nothing for these files.
	lazy func(path string) bool
}

type modelFile struct {
	disk    *modelDisk
	path    string
	durable []byte
	ops     []modelOp
	live    []byte // what the process sees
	entry   bool   // whether the name is durable
	gone    bool   // replaced by a rename
}

type modelOp struct {
	off  int64
	data []byte // nil: truncate to off
}

var errPower = errors.New("the power is gone")

func newModelDisk() *modelDisk { return &modelDisk{files: map[string]*modelFile{}, steps: 1 << 30} }

func (d *modelDisk) step() error {
	if d.steps--; d.steps < 0 {
		return errPower
	}
	return nil
}

func (d *modelDisk) open(path string, create bool) (diskFile, error) {
	if f := d.files[path]; f != nil {
		return f, nil
	}
	if !create {
		return nil, fs.ErrNotExist
	}
	if err := d.step(); err != nil {
		return nil, err
	}
	f := &modelFile{disk: d, path: path}
	d.files[path] = f
	return f, nil
}

func (d *modelDisk) read(path string) ([]byte, error) {
	if f := d.files[path]; f != nil {
		return f.live, nil
	}
	return nil, fs.ErrNotExist
}

// replace is a temporary file, synced, renamed, and the folder synced: one step
// before which nothing has happened, and one after which all has.
func (d *modelDisk) replace(path string, data []byte) error {
	if err := d.step(); err != nil {
		return err
	}
	if old := d.files[path]; old != nil {
		old.gone = true
	}
	d.files[path] = &modelFile{disk: d, path: path, durable: bytes.Clone(data), live: bytes.Clone(data), entry: true}
	return d.step()
}

func (d *modelDisk) syncDir(dir string) error {
	if err := d.step(); err != nil {
		return err
	}
	for name, f := range d.files {
		if path.Dir(name) == dir {
			f.entry = true
		}
	}
	return nil
}

func (f *modelFile) ReadAt(b []byte, off int64) (int, error) {
	if off >= int64(len(f.live)) {
		return 0, io.EOF
	}
	n := copy(b, f.live[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *modelFile) apply(content []byte, op modelOp) []byte {
	if op.data == nil {
		if int64(len(content)) > op.off {
			return bytes.Clone(content[:op.off])
		}
		return append(bytes.Clone(content), make([]byte, op.off-int64(len(content)))...)
	}
	out := bytes.Clone(content)
	if missing := op.off + int64(len(op.data)) - int64(len(out)); missing > 0 {
		out = append(out, make([]byte, missing)...)
	}
	copy(out[op.off:], op.data)
	return out
}

func (f *modelFile) do(op modelOp) error {
	if err := f.disk.step(); err != nil {
		// The power may go in the middle of a write.
		if len(op.data) > 1 {
			op.data = op.data[:len(op.data)/2]
			f.ops = append(f.ops, op)
		}
		return err
	}
	f.ops = append(f.ops, op)
	f.live = f.apply(f.live, op)
	return nil
}

func (f *modelFile) WriteAt(b []byte, off int64) (int, error) {
	return len(b), f.do(modelOp{off, bytes.Clone(b)})
}

func (f *modelFile) Truncate(size int64) error { return f.do(modelOp{off: size}) }

func (f *modelFile) sync() error {
	if err := f.disk.step(); err != nil {
		return err
	}
	if f.disk.lazy != nil && f.disk.lazy(f.path) {
		return nil
	}
	f.durable, f.ops = bytes.Clone(f.live), nil
	return nil
}

func (f *modelFile) size() (int64, error) { return int64(len(f.live)), nil }
func (f *modelFile) current() bool        { return !f.gone && f.disk.files[f.path] == f }
func (f *modelFile) Close() error         { return nil }

// remains lists what a file may be after the power went.
func (f *modelFile) remains() [][]byte {
	out := [][]byte{bytes.Clone(f.durable)}
	content := f.durable
	for _, op := range f.ops {
		if op.data != nil {
			for _, cut := range []int{1, len(op.data) / 2, len(op.data) - 1} {
				if cut <= 0 {
					continue
				}
				out = append(out, f.apply(content, modelOp{op.off, op.data[:cut]}))
				zeros := append(bytes.Clone(op.data[:cut]), make([]byte, len(op.data)-cut)...)
				out = append(out, f.apply(content, modelOp{op.off, zeros}))
			}
		}
		content = f.apply(content, op)
		out = append(out, content)
	}
	for lost := range f.ops {
		content := f.durable
		for i, op := range f.ops {
			if i != lost {
				content = f.apply(content, op)
			}
		}
		out = append(out, content)
	}
	slices.SortFunc(out, bytes.Compare)
	return slices.CompactFunc(out, bytes.Equal)
}

// crashes calls yield with every disk that may be left, up to a number of them
// that are picked evenly.
func (d *modelDisk) crashes(limit int, yield func(*modelDisk)) int {
	paths := slices.Sorted(maps.Keys(d.files))
	choices := make([][][]byte, len(paths)) // nil content: the file is gone
	total := 1
	for i, path := range paths {
		f := d.files[path]
		choices[i] = f.remains()
		if !f.entry {
			choices[i] = append(choices[i], nil)
		}
		total *= len(choices[i])
	}
	stride := 1
	if limit > 0 && total > limit {
		stride = total/limit | 1
	}
	n := 0
	for pick := 0; pick < total; pick += stride {
		left := newModelDisk()
		rest := pick
		for i, path := range paths {
			content := choices[i][rest%len(choices[i])]
			gone := content == nil && !d.files[path].entry && rest%len(choices[i]) == len(choices[i])-1
			rest /= len(choices[i])
			if !gone {
				left.files[path] = &modelFile{disk: left, path: path, durable: content, live: content, entry: true}
			}
		}
		left.lazy = d.lazy
		yield(left)
		n++
	}
	return n
}

// modelBatches are three commits over two data files and the evidence.
var modelBatches = [][]write{
	{{path: "meta/e", data: []byte("e1 evidence\n")}, {path: "data/a", data: []byte("a1 record\n")}},
	{{path: "meta/e", data: []byte("e2 evidence\ne3 evidence\n")}, {path: "data/a", data: []byte("a2 record\n")}, {path: "data/b", data: []byte("b3 record\n")}},
	{{path: "meta/e", data: []byte("e4 evidence\n")}, {path: "data/b", data: []byte("b4 record\n")}},
}

// modelRun commits the batches on a disk, with a checkpoint after the first (as
// well as the last), and gives how many were acknowledged.
func modelRun(d *modelDisk) (acknowledged int, err error) {
	silent := func(string) {}
	s, err := openStore(d, silent, silent)
	if err != nil {
		return 0, err
	}
	for i, batch := range modelBatches {
		if err := s.begin(); err != nil {
			return acknowledged, err
		}
		var writes []write
		for _, w := range batch {
			size, err := s.settle(w.path)
			if err != nil {
				return acknowledged, err
			}
			w.off = size
			writes = append(writes, w)
		}
		err := s.commit(writes)
		var committed *errCommitted
		if err == nil || errors.As(err, &committed) {
			acknowledged++
		}
		if err != nil {
			return acknowledged, err
		}
		if i != 1 {
			if err := s.checkpoint(); err != nil {
				return acknowledged, err
			}
		}
	}
	return acknowledged, nil
}

// modelRecover opens what is left and settles every file.
func modelRecover(d *modelDisk) error {
	silent := func(string) {}
	s, err := openStore(d, silent, silent)
	if err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	for _, path := range []string{"meta/e", "data/a", "data/b"} {
		if _, err := s.settle(path); err != nil {
			return err
		}
	}
	return nil
}

// modelVerify says what is wrong with a recovered disk: every batch must be there
// wholly or not at all, in order, and those that were acknowledged wholly.
func modelVerify(d *modelDisk, acknowledged int) error {
	for n := len(modelBatches); n >= acknowledged; n-- {
		want := map[string]string{}
		for _, batch := range modelBatches[:n] {
			for _, w := range batch {
				want[w.path] += string(w.data)
			}
		}
		all := true
		for _, path := range []string{"meta/e", "data/a", "data/b"} {
			have, _ := d.read(path)
			all = all && string(have) == want[path]
		}
		if all {
			return nil
		}
	}
	var b strings.Builder
	for path, f := range d.files {
		fmt.Fprintf(&b, "\n%s: %q", path, f.live)
	}
	return fmt.Errorf("after %d acknowledged batches the disk holds%s", acknowledged, b.String())
}

// violations runs the model: a crash at every step, every disk that may be left
// (at most limit a step), recovery, and a crash in every step of the recovery.
func violations(limit, again int, lazy func(string) bool) (states int, first error) {
	for steps := 1; ; steps++ {
		d := newModelDisk()
		d.steps, d.lazy = steps, lazy
		acknowledged, err := modelRun(d)
		if err == nil && lazy == nil {
			if err := modelVerify(d, len(modelBatches)); err != nil {
				return states, err
			}
		}
		states += d.crashes(limit, func(left *modelDisk) {
			if first != nil {
				return
			}
			if n, err := recoverAndVerify(left, acknowledged, again, 2); err != nil {
				first = fmt.Errorf("power gone after step %d: %w", steps, err)
			} else {
				states += n
			}
		})
		if first != nil || err == nil {
			return states, first
		}
	}
}

// recoverAndVerify recovers, with the power going again at every step of it.
func recoverAndVerify(left *modelDisk, acknowledged, again, depth int) (states int, err error) {
	copyOf := func(d *modelDisk) *modelDisk {
		c := newModelDisk()
		c.lazy = d.lazy
		for path, f := range d.files {
			c.files[path] = &modelFile{disk: c, path: path, durable: bytes.Clone(f.durable), live: bytes.Clone(f.live), entry: true}
		}
		return c
	}
	for steps := 1; depth > 1 && again > 0; steps++ {
		d := copyOf(left)
		d.steps = steps
		interrupted := modelRecover(d)
		if interrupted == nil {
			break
		}
		if !errors.Is(interrupted, errPower) {
			return states, interrupted
		}
		states += d.crashes(again, func(second *modelDisk) {
			if err == nil {
				_, err = recoverAndVerify(second, acknowledged, again, depth-1)
			}
		})
		if err != nil {
			return states, fmt.Errorf("and again after step %d of the recovery: %w", steps, err)
		}
	}
	d := copyOf(left)
	if err := modelRecover(d); err != nil {
		return states, fmt.Errorf("recovery: %w", err)
	}
	if err := modelVerify(d, acknowledged); err != nil {
		return states, err
	}
	// What recovery has mended, it does not mend again.
	if err := modelRecover(d); err != nil {
		return states, fmt.Errorf("second recovery: %w", err)
	}
	return states, modelVerify(d, acknowledged)
}

func TestCommitSurvivesEveryLossOfPower(t *testing.T) {
	limit, again := 120, 4
	if testing.Short() {
		limit, again = 40, 2
	}
	states, err := violations(limit, again, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d states", states)
	if states < 1000 {
		t.Errorf("the model only saw %d states", states)
	}
}

// The model must be able to see a protocol that is wrong.
func TestModelSeesMissingSyncs(t *testing.T) {
	for _, tt := range []struct {
		name string
		lazy func(path string) bool
	}{
		{"the journal is not synced", func(path string) bool { return path == journalPath }},
		{"the journal is emptied before the data is durable", func(path string) bool { return strings.HasPrefix(path, "data/") }},
		{"the evidence is not durable", func(path string) bool { return path == "meta/e" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if states, err := violations(400, 0, tt.lazy); err == nil {
				t.Errorf("%d states and no violation", states)
			}
		})
	}
}
