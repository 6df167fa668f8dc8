package staging

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/penstock-run/penstock/dag"
)

// gcSuffix is what a log that is being written anew ends with.
const gcSuffix = ".gc"

// apply does on disk what was worked out.
func (c *collector) apply() error {
	if c.report.Empty() && len(c.newLogs) == 0 && len(c.moved) == 0 && len(c.doomed()) == 0 {
		return nil
	}
	made, err := c.prepare()
	if err != nil {
		for _, path := range made {
			_ = os.Remove(path) // nothing refers to it; the next collection takes what is left
		}
		return err
	}
	for _, l := range c.newLogs {
		path := filepath.Join(c.store.dir, l.name)
		c.step("rename " + l.name)
		if err := os.Rename(path+gcSuffix, path); err != nil {
			return storeError("replace", path, err)
		}
	}
	// The old files go only when it is sure that nothing will refer to them again.
	if err := syncDir(c.store.dir); err != nil {
		return err
	}
	for _, path := range c.doomed() {
		c.step("remove " + path)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return storeError("remove", path, err)
		}
		if dir := filepath.Dir(path); filepath.Dir(dir) == c.store.artifacts {
			_ = os.Remove(dir) // where it is empty now
		}
	}
	return nil
}

// prepare writes everything new beside what is there, durably.
func (c *collector) prepare() (made []string, err error) {
	for from := 0; from < len(c.moved) && err == nil; {
		to := from + 1
		number := c.lines[c.moved[from].line].segment
		for to < len(c.moved) && c.lines[c.moved[to].line].segment == number {
			to++
		}
		c.step(fmt.Sprintf("write segment %d", number))
		made = append(made, c.store.segmentPath(number), c.store.indexPath(number))
		err = c.writeSegment(number, c.moved[from:to])
		from = to
	}
	if err == nil && len(c.moved) > 0 {
		err = syncDir(c.store.artifacts)
	}
	for _, l := range c.newLogs {
		if err != nil {
			return made, err
		}
		path := filepath.Join(c.store.dir, l.name+gcSuffix)
		c.step("write " + l.name)
		made = append(made, path)
		err = writeLog(path, l)
	}
	return made, err
}

// doomed are the files that go.
func (c *collector) doomed() []string {
	var paths []string
	if c.report.Kinds[kindOfClaims].Remove > 0 {
		paths = append(paths, filepath.Join(c.store.dir, "claims.log"))
	}
	for _, n := range c.places() {
		if !c.segments[n].stays {
			paths = append(paths, c.store.indexPath(n), c.store.segmentPath(n))
		}
	}
	for _, l := range c.lines {
		if l.segment == looseSegment && !l.keep {
			paths = append(paths, c.loosePath(l.key))
		}
	}
	for _, f := range c.leftover {
		if f.gone {
			paths = append(paths, f.path)
		}
	}
	for _, l := range c.runLogs {
		if l.gone {
			paths = append(paths, l.path)
		}
	}
	return paths
}

// loosePath finds the file of which the start of the digest is known.
func (c *collector) loosePath(key uint64) string {
	start := fmt.Sprintf("%016x", key)
	dir := filepath.Join(c.store.artifacts, start[:2])
	matches, _ := filepath.Glob(filepath.Join(dir, start+"*.json")) // the pattern is well-formed
	if len(matches) == 0 {
		return filepath.Join(dir, start+".json") // gone already
	}
	return matches[0]
}

// writeSegment copies lines into a new segment, and makes its index.
func (c *collector) writeSegment(number uint32, moved []move) error {
	path := c.store.segmentPath(number)
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return storeError("begin a segment", path, err)
	}
	defer func() { _ = out.Close() }()
	w := bufio.NewWriterSize(out, writeSize)
	var index, buf []byte
	var in *os.File
	defer func() {
		if in != nil {
			_ = in.Close()
		}
	}()
	from := uint32(0)
	for _, m := range moved {
		if m.segment != from {
			if in != nil {
				_ = in.Close()
			}
			if in, err = os.Open(c.store.segmentPath(m.segment)); err != nil {
				return storeError("open", c.store.segmentPath(m.segment), err)
			}
			from = m.segment
		}
		l := c.lines[m.line]
		if n := int(l.length) + 1; cap(buf) < n {
			buf = make([]byte, n, 2*n)
		}
		buf = buf[:int(l.length)+1]
		if _, err := in.ReadAt(buf, int64(m.offset)); err != nil {
			return storeError("read", in.Name(), err)
		}
		if key64(dag.Sum(buf[:l.length])) != l.key {
			return storeError("read", in.Name(), errors.New("it changed while it was collected"))
		}
		if _, err := w.Write(buf); err != nil {
			return storeError("append to", path, err)
		}
		index = appendEntry(index, uint32(l.key>>32), int64(l.offset))
	}
	if err := w.Flush(); err != nil {
		return storeError("append to", path, err)
	}
	if err := fdatasync(out); err != nil {
		return storeError("sync", path, err)
	}
	if err := os.WriteFile(c.store.indexPath(number), index, 0o644); err != nil {
		return storeError("write", c.store.indexPath(number), err)
	}
	return nil
}

// writeLog writes a log of the given records under a name of its own.
func writeLog(path string, l gcLog) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return storeError("begin", path, err)
	}
	defer func() { _ = f.Close() }()
	w := logWriter{out: bufio.NewWriterSize(f, writeSize), at: logHead}
	var epoch [8]byte
	_, _ = rand.Read(epoch[:]) // never fails
	_, err = w.out.WriteString(logMagic + string(epoch[:]))
	if err == nil {
		w.start = w.at
		err = l.each(w.add)
	}
	if err == nil {
		err = w.commit()
	}
	if err == nil {
		err = w.out.Flush()
	}
	if err == nil {
		err = fdatasync(f)
	}
	if err != nil {
		return storeError("write", path, err)
	}
	if w.at != l.size {
		return &dag.Error{Op: "collect", Subject: path, Kind: dag.KindBug, Err: fmt.Errorf("%d bytes were written where %d were reckoned", w.at, l.size)}
	}
	return nil
}

// logWriter appends frames to a log that nobody else has.
type logWriter struct {
	out   *bufio.Writer
	at    int64
	start int64 // of the records that no commit frame stands behind
	n     int   // how many they are
	frame []byte
}

func (w *logWriter) add(kind byte, payload []byte) error {
	w.frame = endFrame(append(beginFrame(w.frame[:0], kind), payload...), 0)
	sealFrame(w.frame, w.at)
	if err := w.write(w.frame); err != nil {
		return err
	}
	if w.n++; w.n == commitEvery {
		return w.commit()
	}
	return nil
}

func (w *logWriter) commit() error {
	if w.n == 0 {
		return nil
	}
	err := w.write(commitFrame(w.start, w.n, w.at))
	w.start, w.n = w.at, 0
	return err
}

func (w *logWriter) write(b []byte) error {
	n, err := w.out.Write(b)
	w.at += int64(n)
	return err
}
