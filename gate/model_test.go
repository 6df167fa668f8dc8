package gate

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// The model of a disk that loses power. Every file keeps what was synced, and of
// what was written since any prefix, the last write of it cut anywhere, with or
// without zeros in place of what is missing; or all of it but one operation.
// A file that was not followed by a sync of its folder may be gone. A process that
// dies in a write leaves half of it, and those that live on see that half.

type modelDisk struct {
	files map[string]*modelFile
	// steps counts operations down; at zero the power goes.
	steps int
	// For the test of the test: files whose syncs do nothing, and files to which
	// every write is an append.
	lazy, appends func(path string) bool
	ids           uint64 // of files, in the order of their making
}

type modelFile struct {
	disk    *modelDisk
	path    string
	ino     uint64
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

func (d *modelDisk) put(path string, content []byte, entry bool) *modelFile {
	d.ids++
	f := &modelFile{disk: d, path: path, ino: d.ids, durable: bytes.Clone(content), live: bytes.Clone(content), entry: entry}
	d.files[path] = f
	return f
}

// copy is the disk as it would be found after the power went now and nothing was lost.
func (d *modelDisk) copy() *modelDisk {
	c := newModelDisk()
	for path, f := range d.files {
		c.put(path, f.live, true)
	}
	return c
}

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
	return d.put(path, nil, false), nil
}

func (d *modelDisk) id(path string) (fileID, error) {
	if f := d.files[path]; f != nil {
		return fileID{ino: f.ino}, nil
	}
	return fileID{}, nil
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
	d.put(path, data, true)
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
		if len(op.data) > 1 {
			op.data = op.data[:len(op.data)/2]
			f.ops = append(f.ops, op)
			f.live = f.apply(f.live, op)
		}
		return err
	}
	f.ops = append(f.ops, op)
	f.live = f.apply(f.live, op)
	return nil
}

func (f *modelFile) WriteAt(b []byte, off int64) (int, error) {
	if f.disk.appends != nil && f.disk.appends(f.path) {
		off = int64(len(f.live))
	}
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
func (f *modelFile) reserve(int64) error  { return nil }
func (f *modelFile) identity() fileID     { return fileID{ino: f.ino} }
func (f *modelFile) Close() error         { return nil }

func (f *modelFile) named() (int64, bool, error) {
	return int64(len(f.live)), !f.gone && f.disk.files[f.path] == f, nil
}

// cuts are where a write may end: anywhere in a header or a row, at eight places
// of what is longer.
func cuts(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for cut := 1; cut < n; cut += max(1, n/8*min(1, n/32)) {
			if !yield(cut) {
				return
			}
		}
	}
}

// remains lists what a file may be after the power went.
func (f *modelFile) remains() [][]byte {
	out := [][]byte{bytes.Clone(f.durable)}
	content := f.durable
	for _, op := range f.ops {
		if op.data != nil {
			for cut := range cuts(len(op.data)) {
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
				left.put(path, content, true)
			}
		}
		yield(left)
		n++
	}
	return n
}
