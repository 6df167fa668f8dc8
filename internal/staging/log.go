package staging

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// A log's header: 8 bytes that name the format, then 8 random ones that change
// when the log starts anew, so that whoever read it before knows.
const (
	logHead = 16
	// firstRead is what most records fit into, with their frame.
	firstRead = 1 << 10
	logMagic  = "PSTKLOG\x01"
)

// pendingBit marks a position that counts from the first byte ever appended by
// this process, not from the start of the file: where a record will stand is
// known only under the lock.
const pendingBit = 1 << 63

// appendLog is one append-only file that several processes write in turns.
// It is not safe for concurrent use: the Store's mutex guards it.
type appendLog struct {
	path     string
	readOnly bool
	note     func(format string, args ...any)
	// apply is told every frame that others wrote, or that was there before.
	apply func(kind byte, payload []byte, at int64)
	// placed is told where a record of our own has come to stand.
	placed func(kind byte, payload []byte, pending uint64, at int64)
	// expect is told how many bytes apply will see, to make room. May be nil.
	expect func(bytes int64)
	// reset is told that the log was started anew. May be nil.
	reset func()

	f      *os.File
	loaded bool  // apply has seen, or placed has been told, everything before known
	known  int64 // a boundary between frames, up to which the file is known to be good
	epoch  [8]byte

	pending []byte // frames without their sums
	starts  []int  // of each frame in pending
	flushed uint64 // bytes that left pending in all
	gone    int    // frames likewise
	dirty   bool   // appended since the last sync
}

// open opens the file, and creates it where we may. A log that is not there
// and may not be created is an empty one.
func (l *appendLog) open() error {
	if l.f != nil {
		return nil
	}
	flags := os.O_RDWR | os.O_CREATE
	if l.readOnly {
		flags = os.O_RDONLY
	}
	f, err := os.OpenFile(l.path, flags, 0o644)
	if l.readOnly && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return storeError("open", l.path, err)
	}
	l.f = f
	return nil
}

func (l *appendLog) close() {
	if l.f != nil {
		_ = l.f.Close() // what had to be durable was synced by Flush
		l.f = nil
	}
}

// load makes sure that apply has seen the whole log, and what is pending.
func (l *appendLog) load() error {
	if l.loaded {
		return nil
	}
	if err := l.open(); err != nil {
		return err
	}
	l.loaded = true
	l.known = 0
	if l.f != nil {
		if err := l.locked(unix.LOCK_SH, func(size int64) error { return l.catchUp(size) }); err != nil {
			l.loaded = false
			return err
		}
	}
	for _, start := range l.starts {
		frame := l.frame(start)
		l.placed(frame[3], frame[frameHead:], l.pendingAt(start), 0)
	}
	return nil
}

// refresh lets apply see what others appended since the last look. It says
// whether there was anything.
func (l *appendLog) refresh() (bool, error) {
	if !l.loaded || l.f == nil {
		if l.loaded && l.readOnly { // it was not there; it may be now
			l.loaded = false
			err := l.load()
			return l.f != nil, err
		}
		return false, nil
	}
	info, err := l.f.Stat()
	if err != nil {
		return false, storeError("look at", l.path, err)
	}
	if info.Size() == l.known && l.reset == nil {
		return false, nil
	}
	before := l.known
	err = l.locked(unix.LOCK_SH, l.catchUp)
	return l.known != before, err
}

// add puts a record into pending; fill appends its payload. It returns the
// position that stands for it until it is flushed.
func (l *appendLog) add(kind byte, fill func(dst []byte) []byte) (payload []byte, pending uint64, err error) {
	start := len(l.pending)
	frame := fill(beginFrame(l.pending, kind))
	if n := len(frame) - start - frameHead; n > maxPayload {
		return nil, 0, storeError("record in", l.path, fmt.Errorf("%d bytes are too many for one record, which may have %d", n, maxPayload))
	}
	l.pending = endFrame(frame, start)
	l.starts = append(l.starts, start)
	return l.pending[start+frameHead:], l.pendingAt(start), nil
}

func (l *appendLog) pendingAt(start int) uint64 { return pendingBit | (l.flushed + uint64(start)) }

// frame is the pending frame that starts there.
func (l *appendLog) frame(start int) []byte {
	rest := l.pending[start:]
	return rest[:frameLen(rest)]
}

// mark stands for all frames that were added so far.
func (l *appendLog) mark() int { return l.gone + len(l.starts) }

// flush appends the pending frames before a mark. Where it fails nothing has
// changed, here or in the file, and it may be called again.
func (l *appendLog) flush(mark int) error {
	n := mark - l.gone
	if n <= 0 {
		return nil
	}
	if err := l.open(); err != nil {
		return err
	}
	if err := l.unmoved(); err != nil {
		return err
	}
	return l.locked(unix.LOCK_EX, func(size int64) error {
		at, err := l.settle(size)
		if err != nil {
			return err
		}
		return l.append(n, at)
	})
}

// append writes at offset at, which is the end of the file.
func (l *appendLog) append(n int, at int64) error {
	end := len(l.pending)
	if n < len(l.starts) {
		end = l.starts[n]
	}
	for _, start := range l.starts[:n] {
		sealFrame(l.frame(start), at+int64(start))
	}
	if err := l.write(end, n, at); err != nil {
		// A piece that cannot be taken back is no commit: the next appender cuts it.
		_ = l.f.Truncate(at)
		return storeError("append to", l.path, err)
	}
	l.dirty = true
	if l.loaded {
		for _, start := range l.starts[:n] {
			frame := l.frame(start)
			l.placed(frame[3], frame[frameHead:], l.pendingAt(start), at+int64(start))
		}
	}
	l.known = at + int64(end) + commitSize
	l.drop(n, end)
	return nil
}

// write writes the first n pending frames, which take end bytes, and their commit:
// in one piece where no other frame stands behind them.
func (l *appendLog) write(end, n int, at int64) error {
	commit := commitFrame(at, n, at+int64(end))
	if end == len(l.pending) {
		l.pending = append(l.pending, commit...)
		_, err := l.f.WriteAt(l.pending, at)
		l.pending = l.pending[:end]
		return err
	}
	if _, err := l.f.WriteAt(l.pending[:end], at); err != nil {
		return err
	}
	_, err := l.f.WriteAt(commit, at+int64(end))
	return err
}

// drop forgets the first n pending frames, which take end bytes.
func (l *appendLog) drop(n, end int) {
	l.pending = l.pending[:copy(l.pending, l.pending[end:])]
	l.starts = l.starts[:copy(l.starts, l.starts[n:])]
	for i := range l.starts {
		l.starts[i] -= end
	}
	l.flushed += uint64(end)
	l.gone += n
}

// settle makes sure, under the exclusive lock, that the file ends with a good
// frame, and that apply has seen what others wrote. It returns the end.
func (l *appendLog) settle(size int64) (int64, error) {
	if size < logHead {
		return l.begin()
	}
	if l.loaded {
		if err := l.catchUp(size); err != nil {
			return 0, err
		}
	} else if size != l.known {
		whole, err := l.endsWithCommit(size)
		if err != nil {
			return 0, err
		}
		l.known = size
		if !whole {
			if l.known, err = l.read(logHead, size, nil); err != nil {
				return 0, err
			}
		}
	}
	if l.known < size {
		if err := l.cut(l.known, size); err != nil {
			return 0, err
		}
	}
	return l.known, nil
}

// begin writes the header of an empty log, or of one whose header was torn.
func (l *appendLog) begin() (int64, error) {
	head := append(make([]byte, 0, logHead), logMagic...)
	var epoch [8]byte
	_, _ = rand.Read(epoch[:]) // never fails
	head = append(head, epoch[:]...)
	err := l.f.Truncate(0)
	if err == nil {
		_, err = l.f.WriteAt(head, 0)
	}
	if err != nil {
		_ = l.f.Truncate(0)
		return 0, storeError("begin", l.path, err)
	}
	l.epoch, l.known = epoch, logHead
	return logHead, nil
}

// catchUp reads, under a lock, from known to size.
func (l *appendLog) catchUp(size int64) error {
	if size < logHead {
		return nil
	}
	if l.known < logHead || l.reset != nil {
		var head [logHead]byte
		if _, err := l.f.ReadAt(head[:], 0); err != nil {
			return storeError("read", l.path, err)
		}
		epoch := [8]byte(head[8:])
		if l.reset != nil && l.known >= logHead && epoch != l.epoch {
			l.reset()
			l.known = 0
		}
		l.epoch = epoch
		if !bytes.Equal(head[:8], []byte(logMagic)) {
			l.note("%s: its first bytes are damaged; its records are read all the same", l.path)
		}
	}
	if size < l.known {
		// Somebody cut the file. What the indexes point at past its end reads as
		// absent; here only a good end is looked for.
		l.note("%s: %d bytes at its end have vanished", l.path, l.known-size)
		known, err := l.read(logHead, size, nil)
		l.known = known
		return err
	}
	if l.expect != nil {
		l.expect(size - max(l.known, logHead))
	}
	known, err := l.read(max(l.known, logHead), size, l.apply)
	if err != nil {
		return err
	}
	l.known = known
	return nil
}

const window = 1 << 20

// read scans the file and returns where its last good frame ends.
func (l *appendLog) read(from, size int64, apply func(byte, []byte, int64)) (int64, error) {
	s := scanner{size: size, good: from, apply: apply}
	buf := make([]byte, min(window, max(0, size-from)))
	base, held := from, 0 // buf[:held] stands at base
	for base+int64(held) < size {
		if held == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		n, err := l.f.ReadAt(buf[held:min(int64(len(buf)), size-base)], base+int64(held))
		if err != nil && (!errors.Is(err, io.EOF) || n == 0) {
			return from, storeError("read", l.path, err)
		}
		held += n
		done := s.scan(buf[:held], base, base+int64(held) == size)
		held = copy(buf, buf[done:held])
		base += int64(done)
	}
	for _, d := range s.damaged {
		l.note("%s: %d bytes at offset %d are damaged; what they recorded counts as not there", l.path, d.to-d.from, d.from)
	}
	return s.good, nil
}

// endsWithCommit looks at the last bytes only.
func (l *appendLog) endsWithCommit(size int64) (bool, error) {
	at := size - commitSize
	if at < logHead {
		return false, nil
	}
	var last [commitSize]byte
	if _, err := l.f.ReadAt(last[:], at); err != nil {
		return false, storeError("read", l.path, err)
	}
	return frameLen(last[:]) == commitSize && last[3] == kindCommit && goodFrame(last[:], at), nil
}

// record reads the frame at offset at, or a pending one, into buf. What is not
// whole there is absent: nil.
func (l *appendLog) record(pos uint64, buf []byte) (kind byte, payload, scratch []byte) {
	if pos&pendingBit != 0 {
		if pos&^pendingBit < l.flushed {
			return 0, nil, buf
		}
		frame := l.frame(int(pos&^pendingBit - l.flushed))
		return frame[3], frame[frameHead:], buf
	}
	if cap(buf) < firstRead {
		buf = make([]byte, firstRead)
	}
	buf = buf[:firstRead] // it may be large from other reads, and what is read is copied
	if l.f == nil {
		return 0, nil, buf
	}
	n, err := l.f.ReadAt(buf, int64(pos))
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, nil, buf
	}
	size := frameLen(buf[:n])
	if size > len(buf) {
		buf = slices.Grow(buf[:0], size)[:size]
		if n, err = l.f.ReadAt(buf, int64(pos)); err != nil && n < size {
			return 0, nil, buf
		}
	}
	if size == 0 || size > n || !goodFrame(buf[:size], int64(pos)) {
		return 0, nil, buf
	}
	return buf[3], buf[frameHead:size], buf
}

// cut takes a torn end off. It is kept aside, for a person who wants to know.
func (l *appendLog) cut(from, size int64) error {
	torn := make([]byte, size-from)
	if _, err := l.f.ReadAt(torn, from); err != nil {
		return storeError("read", l.path, err)
	}
	aside := l.path + ".torn"
	if err := appendFile(aside, torn); err != nil {
		return err
	}
	if err := l.f.Truncate(from); err != nil {
		return storeError("cut", l.path, err)
	}
	l.note("%s: the last %d bytes were torn; they were moved to %s", l.path, size-from, filepath.Base(aside))
	return nil
}

func appendFile(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return storeError("open", path, err)
	}
	_, err = f.Write(b)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return storeError("append to", path, err)
	}
	return nil
}
