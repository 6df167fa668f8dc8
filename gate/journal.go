package gate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
)

// The redo journal. It starts with a header that bears its epoch; then come the
// records of the batches that were committed since the last checkpoint, each:
//
//	magic "PSJ1" · length of the record · epoch · sequence · number of writes
//	for each write: length of the path, path, offset, length of the data, data
//	CRC-32C of all of it
//
// Numbers are little-endian. A record counts if all of it is there, its CRC is
// right, its epoch is the header's and its sequence follows the one before: what
// was torn, or written in an earlier epoch, ends the journal.
//
// The file is longer than what counts in it. Its space is filled with zeros and
// synced before it is needed, and a checkpoint does not cut it off but begins the
// next epoch at its start: to overwrite blocks that are there is one write of the
// disk, to append to a file is two, one of them for the file system's own journal.
// So its size says nothing, and behind the last record stand those of older epochs.
// A journal without such space, as an earlier version kept it, is read like any other.

const (
	headerMagic   = "PSJH"
	headerVersion = 1
	recordMagic   = "PSJ1"
	headerSize    = 24
	recordFixed   = 4 + 4 + 8 + 8 + 4 // up to and with the number of writes
	maxRecord     = 1 << 30
)

// Room for records is made in steps that double, from the first to the last.
const (
	roomFirst = 256 << 10
	roomLast  = 2 * checkpointBytes // what is more is given back by a checkpoint
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// write is bytes at an offset of a file, all that a commit consists of.
type write struct {
	path string
	off  int64
	data []byte
}

func (w write) end() int64 { return w.off + int64(len(w.data)) }

// record is one committed batch.
type record struct {
	epoch, sequence uint64
	writes          []write
}

func encodeHeader(epoch uint64) []byte {
	b := append(make([]byte, 0, headerSize), headerMagic...)
	b = binary.LittleEndian.AppendUint32(b, headerVersion)
	b = binary.LittleEndian.AppendUint64(b, epoch)
	b = binary.LittleEndian.AppendUint32(b, 0)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeHeader gives the epoch; ok is false for what is torn or no header. A whole
// header of another version is an error: its journal may hold batches.
func decodeHeader(b []byte) (epoch uint64, ok bool, err error) {
	if len(b) < headerSize || string(b[:4]) != headerMagic || binary.LittleEndian.Uint32(b[20:]) != crc32.Checksum(b[:20], castagnoli) {
		return 0, false, nil
	}
	if v := binary.LittleEndian.Uint32(b[4:]); v != headerVersion {
		return 0, false, fmt.Errorf("%s has format %d and this version reads format %d: commit what waits in it with the version that wrote it", journalPath, v, headerVersion)
	}
	return binary.LittleEndian.Uint64(b[8:]), true, nil
}

// readHeader reads the epoch of a journal; ok is false where there is no header.
func readHeader(r io.ReaderAt) (epoch uint64, ok bool, err error) {
	var head [headerSize]byte
	if err := readFull(r, head[:], 0); errors.Is(err, errNoRecord) {
		return 0, false, nil
	} else if err != nil {
		return 0, false, err
	}
	return decodeHeader(head[:])
}

// epochBehind is the epoch of the batch that stands where the first of a journal
// does. A header is made durable by the sync of that batch at the latest, so a batch
// whose header is gone or changed may have been acknowledged.
func epochBehind(f journalFile) (epoch uint64, ok bool, err error) {
	var fixed [recordFixed]byte
	err = readFull(f, fixed[:], headerSize)
	if err == nil {
		epoch = binary.LittleEndian.Uint64(fixed[8:])
		_, _, err = readRecord(f, headerSize, epoch)
	}
	if errors.Is(err, errNoRecord) {
		return 0, false, nil
	}
	return epoch, err == nil, err
}

// holdsRecord reports whether a batch of an epoch, or of a later one, stands anywhere
// in a journal.
func holdsRecord(f journalFile, epoch uint64) (bool, error) {
	size, err := f.size()
	if err != nil {
		return false, err
	}
	all := make([]byte, size)
	if err := readFull(f, all, 0); err != nil {
		return false, err
	}
	for at := bytes.Index(all, []byte(recordMagic)); at >= 0 && len(all)-at >= recordFixed; {
		b := all[at:]
		if length := binary.LittleEndian.Uint32(b[4:]); binary.LittleEndian.Uint64(b[8:]) >= epoch && length >= recordFixed+4 && int64(length) <= int64(len(b)) {
			if _, ok := decodeRecord(b[:length]); ok {
				return true, nil
			}
		}
		next := bytes.Index(b[1:], []byte(recordMagic))
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return false, nil
}

// errHeadless says that what a journal holds cannot be read.
func errHeadless() error {
	return &errEdited{journalPath, "its beginning is neither a header nor a batch, and batches that may not be in their files stand behind it"}
}

// encodeRecord writes a record over b, whose room it uses.
func encodeRecord(b []byte, r record) ([]byte, error) {
	size := recordFixed + 4
	for _, w := range r.writes {
		size += 2 + len(w.path) + 8 + 4 + len(w.data)
	}
	if size > maxRecord {
		return nil, fmt.Errorf("a batch of %d bytes is over the limit of %d; commit fewer candidates at a time", size, maxRecord)
	}
	b = append(slices.Grow(b[:0], size), recordMagic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = binary.LittleEndian.AppendUint64(b, r.epoch)
	b = binary.LittleEndian.AppendUint64(b, r.sequence)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.writes)))
	for _, w := range r.writes {
		if len(w.path) > 1<<16-1 {
			return nil, fmt.Errorf("the path of a data file has %d bytes", len(w.path))
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(len(w.path)))
		b = append(b, w.path...)
		b = binary.LittleEndian.AppendUint64(b, uint64(w.off))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(w.data)))
		b = append(b, w.data...)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)), nil
}

// errNoRecord says that no whole record starts here: the end of the journal.
var errNoRecord = errors.New("no record")

// readRecord reads the record of an epoch at off, and gives the offset behind it.
func readRecord(f journalFile, off int64, epoch uint64) (record, int64, error) {
	var fixed [recordFixed]byte
	if err := readFull(f, fixed[:], off); err != nil {
		return record{}, 0, err
	}
	length := binary.LittleEndian.Uint32(fixed[4:])
	if string(fixed[:4]) != recordMagic || binary.LittleEndian.Uint64(fixed[8:]) != epoch || length < recordFixed+4 {
		return record{}, 0, errNoRecord
	}
	size, err := f.size() // a torn length must not ask for a gigabyte
	if err != nil {
		return record{}, 0, err
	}
	end := off + int64(length)
	if end > size {
		return record{}, 0, errNoRecord
	}
	b := make([]byte, length)
	if err := readFull(f, b, off); err != nil {
		return record{}, 0, err
	}
	rec, ok := decodeRecord(b)
	if !ok {
		return record{}, 0, errNoRecord
	}
	return rec, end, nil
}

// journalFile is what a journal is read from.
type journalFile interface {
	io.ReaderAt
	size() (int64, error)
}

// readFull reads all of b; an end before that is errNoRecord.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return errNoRecord
	}
	return fmt.Errorf("read the journal: %w", err)
}

func decodeRecord(b []byte) (record, bool) {
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return record{}, false
	}
	r := record{epoch: binary.LittleEndian.Uint64(b[8:]), sequence: binary.LittleEndian.Uint64(b[16:])}
	count := binary.LittleEndian.Uint32(b[24:])
	rest := body[recordFixed:]
	for range count {
		if len(rest) < 2 {
			return record{}, false
		}
		n := int(binary.LittleEndian.Uint16(rest))
		rest = rest[2:]
		if len(rest) < n+12 {
			return record{}, false
		}
		w := write{path: string(rest[:n]), off: int64(binary.LittleEndian.Uint64(rest[n:]))}
		size := int(binary.LittleEndian.Uint32(rest[n+8:]))
		rest = rest[n+12:]
		if len(rest) < size || w.off < 0 {
			return record{}, false
		}
		w.data, rest = rest[:size:size], rest[size:]
		r.writes = append(r.writes, w)
	}
	return r, len(rest) == 0
}

// eachPending gives the batches that are committed, in their order, whether they
// are in their files yet or not. For those who only look: it mends nothing.
func eachPending(d osDisk, each func(record)) error {
	f, err := d.openRead(journalPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	epoch, ok, err := readHeader(f)
	if err == nil && !ok {
		epoch, ok, err = epochBehind(f)
	}
	if err != nil || !ok {
		return err
	}
	for off := int64(headerSize); ; {
		r, end, err := readRecord(f, off, epoch)
		if errors.Is(err, errNoRecord) {
			return nil // the end of what is committed
		}
		if err != nil {
			return err
		}
		each(r)
		off = end
	}
}
