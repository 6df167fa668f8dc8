package staging

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/penstock-run/penstock/dag"
	"golang.org/x/sys/unix"
)

// Ref is where an artifact lies. It is a hint that makes reading and the test
// of existence cheap; the digest is what counts. The zero Ref knows nothing.
type Ref struct {
	Segment uint32 // from 1; looseSegment for a file of its own
	Offset  uint32
	Length  uint32
}

// IsZero reports whether r knows nothing.
func (r Ref) IsZero() bool { return r == Ref{} }

// Loose reports whether the artifact is a file of its own.
func (r Ref) Loose() bool { return r.Segment == looseSegment }

func (r Ref) end() int64 { return int64(r.Offset) + int64(r.Length) + 1 }

// Put stores a document, once, and says where. What was put is read back at
// once; it is durable after Flush. A copy that was damaged is replaced.
func (s *Store) Put(doc dag.Doc) (Ref, error) {
	if len(doc.Bytes) == 0 || doc.Digest.IsZero() {
		return Ref{}, &dag.Error{Op: "put artifact", Subject: doc.Digest.String(), Kind: dag.KindBug, Err: errors.New("a document without bytes or digest")}
	}
	if len(doc.Bytes) > looseSize {
		return s.putLoose(doc)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return Ref{}, err
	}
	if ref, ok := s.recent.find(doc.Digest); ok {
		return ref, nil
	}
	delete(s.bad, doc.Digest)
	if s.own == nil {
		if err := s.begin(); err != nil {
			return Ref{}, err
		}
	}
	if !s.linesLoaded {
		if err := s.loadLines(); err != nil {
			return Ref{}, err
		}
	}
	hash := hash32(doc.Digest)
	for c := s.lines.first(hash); c.pos != 0; c = s.lines.next(hash, c) {
		if ref := refAt(c.pos, len(doc.Bytes)); s.holds(ref, doc.Bytes) {
			s.recent.put(doc.Digest, ref)
			return ref, nil
		}
	}
	ref, err := s.appendLine(hash, doc.Bytes)
	if err == nil {
		s.recent.put(doc.Digest, ref)
	}
	return ref, err
}

func refAt(pos uint64, length int) Ref {
	return Ref{Segment: uint32(pos >> 32), Offset: uint32(pos), Length: uint32(length)}
}

// holds reports whether exactly these bytes are a line at ref.
func (s *Store) holds(ref Ref, want []byte) bool {
	got := s.read(ref, 1)
	return len(got) == len(want)+1 && got[len(want)] == '\n' && bytes.Equal(got[:len(want)], want)
}

// read gives the bytes at ref and some more, in a buffer that the next read uses.
func (s *Store) read(ref Ref, more int) []byte {
	n := int(ref.Length) + more
	if cap(s.scratch) < n {
		s.scratch = make([]byte, n+n/2)
	}
	return s.scratch[:s.readAt(ref.Segment, s.scratch[:n], int64(ref.Offset))]
}

func (s *Store) appendLine(hash uint32, line []byte) (Ref, error) {
	if s.own.size+int64(len(line))+1 > segmentSize {
		if err := s.rotate(); err != nil {
			return Ref{}, err
		}
	}
	w := s.own
	if len(w.buf)+len(line)+1 > writeSize && len(w.buf) > 0 {
		if err := w.write(); err != nil {
			return Ref{}, err
		}
		s.touched(w.f)
	}
	ref := Ref{Segment: w.number, Offset: uint32(w.size), Length: uint32(len(line))}
	w.buf = append(append(w.buf, line...), '\n')
	w.entries = appendEntry(w.entries, hash, w.size)
	s.lines.add(hash, uint64(ref.Segment)<<32|uint64(ref.Offset))
	w.size = ref.end()
	w.covered, w.last, w.next = int64(ref.Offset)+1, int64(ref.Offset), w.size
	s.puts++
	return ref, nil
}

// rotate ends the own segment, which is full, and begins another.
func (s *Store) rotate() error {
	w := s.own
	if err := w.write(); err != nil {
		return err
	}
	w.writeIndex()
	s.touched(w.f)
	s.retired[w.number] = true
	s.own = nil
	_ = unix.Flock(int(w.f.Fd()), unix.LOCK_UN)
	_ = w.index.Close()
	return s.begin()
}

// Get gives an artifact's bytes, verified. What is damaged, torn or gone is an
// error with ErrAbsent in it.
func (s *Store) Get(digest dag.Digest) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.get(digest)
}

func (s *Store) get(digest dag.Digest) ([]byte, error) {
	if s.closed {
		return nil, storeError("read artifact", digest.String(), fs.ErrClosed)
	}
	fresh := !s.linesLoaded
	if fresh {
		if err := s.loadLines(); err != nil {
			return nil, err
		}
	}
	b, damaged := s.lookup(digest)
	if b == nil && !fresh {
		// Another process may have put it since.
		if err := s.loadLines(); err != nil {
			return nil, err
		}
		b, damaged = s.lookup(digest)
	}
	if b != nil {
		return b, nil
	}
	b, err := s.getLoose(digest)
	if err == nil {
		return b, nil
	}
	s.bad[digest] = struct{}{}
	s.recent.forget(digest)
	if damaged {
		return nil, absent(digest, "what lies at its place are other bytes")
	}
	return nil, err
}

// lookup tries every line whose digest may be this one.
func (s *Store) lookup(digest dag.Digest) (b []byte, damaged bool) {
	hash := hash32(digest)
	for c := s.lines.first(hash); c.pos != 0; c = s.lines.next(hash, c) {
		line := s.lineAt(uint32(c.pos>>32), int64(uint32(c.pos)))
		if line != nil && dag.Sum(line) == digest {
			return bytes.Clone(line), false
		}
		damaged = true
	}
	return nil, damaged
}

// lineAt reads a line of unknown length; nil where none ends there.
func (s *Store) lineAt(number uint32, offset int64) []byte {
	for _, n := range [...]uint32{4 << 10, 16 << 10, looseSize + 1} {
		b := s.read(Ref{Segment: number, Offset: uint32(offset), Length: n}, 0)
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			return b[:i]
		}
		if len(b) < int(n) {
			return nil
		}
	}
	return nil
}

// Read is Get for a caller that knows where the artifact lay. Where it lies
// there no longer, every other copy is tried.
func (s *Store) Read(ref Ref, digest dag.Digest) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !ref.IsZero() && !ref.Loose() && ref.Length <= looseSize {
		b := make([]byte, ref.Length)
		if n := s.readAt(ref.Segment, b, int64(ref.Offset)); n == len(b) && dag.Sum(b) == digest {
			return b, nil
		}
		s.recent.forget(digest)
	}
	return s.get(digest)
}

// present reports whether an artifact is there as far as lengths tell.
func (s *Store) present(ref Ref, digest dag.Digest) bool {
	if len(s.bad) > 0 {
		if _, bad := s.bad[digest]; bad {
			return false
		}
	}
	if ref.Loose() {
		return s.looseLength(digest) == int64(ref.Length)
	}
	return s.reaches(ref.Segment, ref.end())
}

func (s *Store) loosePath(digest dag.Digest) string {
	name := digest.String()
	return filepath.Join(s.artifacts, name[:2], name+".json")
}

// looseLength is the length of a document's own file, -1 where there is none.
func (s *Store) looseLength(digest dag.Digest) int64 {
	info, err := os.Stat(s.loosePath(digest))
	if err != nil {
		return -1
	}
	return info.Size()
}

func (s *Store) getLoose(digest dag.Digest) ([]byte, error) {
	b, err := os.ReadFile(s.loosePath(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent(digest, "it is not there")
	}
	if err != nil {
		return nil, absent(digest, err.Error())
	}
	if dag.Sum(b) != digest {
		return nil, absent(digest, "its file holds other bytes")
	}
	return b, nil
}

// putLoose writes a file of its own: whole under a temporary name, synced,
// then renamed, so that its name never stands for a part of it. That takes
// long, and is done without the mutex.
func (s *Store) putLoose(doc dag.Doc) (Ref, error) {
	s.mu.Lock()
	err := s.writable()
	delete(s.bad, doc.Digest)
	s.mu.Unlock()
	if err != nil {
		return Ref{}, err
	}
	if int64(len(doc.Bytes)) > 1<<32-2 {
		return Ref{}, storeError("put artifact", doc.Digest.String(), fmt.Errorf("a document of %d bytes is too long", len(doc.Bytes)))
	}
	ref := Ref{Segment: looseSegment, Length: uint32(len(doc.Bytes))}
	path := s.loosePath(doc.Digest)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, doc.Bytes) {
		return ref, nil
	}
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, 0o755); err == nil {
		if err := syncDir(s.artifacts); err != nil {
			return Ref{}, err
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return Ref{}, storeError("make", dir, err)
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return Ref{}, storeError("make", dir, err)
	}
	if err := replaceFile(path, doc.Bytes); err != nil {
		return Ref{}, err
	}
	return ref, nil
}

// replaceFile makes path hold b, durably, or leaves it as it was.
func replaceFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".put-*")
	if err != nil {
		return storeError("write", path, err)
	}
	temp := f.Name()
	_, err = f.Write(b)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = fdatasync(f)
	}
	// Close before rename: an error that only close tells must not be published.
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return storeError("write", path, err)
	}
	return syncDir(filepath.Dir(path))
}
