package staging

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// A log is a header and frames:
//
//	offset  bytes
//	0       1      A7
//	1       2      a tag made of the frame's offset in the file
//	3       1      kind
//	4       4      length of the payload, little-endian
//	8       4      CRC-32C of bytes 0 to 7 and the payload, started from the frame's offset
//	12             payload
//
// The offset stands in tag and sum so that a payload which happens to hold
// frames (or was made to) is never taken for them when a reader looks for the
// next good frame after damage. The tag alone tells nearly always, so that
// look is one pass and not a sum from every byte on.
//
// Each append ends with a commit frame. It adds nothing to what the frames say
// but tells an appender, from the last 24 bytes alone, that the end is whole.
const (
	frameHead  = 12
	maxPayload = 64 << 20
	frameMagic = 0xA7
	kindCommit = 'C'
	commitSize = frameHead + 12
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// beginFrame appends a frame's head, to be closed by endFrame.
func beginFrame(dst []byte, kind byte) []byte {
	return append(dst, frameMagic, 0, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0)
}

// endFrame writes the length of the frame that starts at start and ends with dst.
func endFrame(dst []byte, start int) []byte {
	binary.LittleEndian.PutUint32(dst[start+4:], uint32(len(dst)-start-frameHead))
	return dst
}

// sealFrame writes tag and sum of a frame that will stand at offset at.
func sealFrame(frame []byte, at int64) {
	binary.LittleEndian.PutUint16(frame[1:], frameTag(at))
	binary.LittleEndian.PutUint32(frame[8:], frameSum(frame, at))
}

func frameTag(at int64) uint16 { return uint16(uint64(at) * 0x9E3779B97F4A7C15 >> 48) }

// frameSum starts from the offset, not from zero: that costs nothing.
func frameSum(frame []byte, at int64) uint32 {
	seed := uint32(at) + uint32(at>>32)*2654435761
	sum := crc32.Update(seed, castagnoli, frame[:8])
	return crc32.Update(sum, castagnoli, frame[frameHead:])
}

// frameLen is the whole length of the frame that b starts with; 0 where b does
// not start with a frame's head.
func frameLen(b []byte) int {
	if len(b) < frameHead || b[0] != frameMagic {
		return 0
	}
	n := binary.LittleEndian.Uint32(b[4:])
	if n > maxPayload {
		return 0
	}
	return frameHead + int(n)
}

// goodFrame reports whether frame, which stands at offset at, is whole.
func goodFrame(frame []byte, at int64) bool {
	return binary.LittleEndian.Uint32(frame[8:]) == frameSum(frame, at)
}

// commitFrame ends an append that started at offset start with n frames.
func commitFrame(start int64, n int, at int64) []byte {
	frame := beginFrame(make([]byte, 0, commitSize), kindCommit)
	frame = binary.LittleEndian.AppendUint64(frame, uint64(start))
	frame = binary.LittleEndian.AppendUint32(frame, uint32(n))
	frame = endFrame(frame, 0)
	sealFrame(frame, at)
	return frame
}

// span is a piece of a file.
type span struct{ from, to int64 }

// scanner finds the good frames of a stretch of a log, window by window.
type scanner struct {
	size    int64                                     // of the file: no frame ends past it
	good    int64                                     // where the last good frame ended
	damaged []span                                    // between good frames
	apply   func(kind byte, payload []byte, at int64) // not called for commit frames; may be nil
}

// scan goes through b, which stands at offset base. It returns how much of b is
// dealt with; the rest is to come again, with more behind it, until last.
func (s *scanner) scan(b []byte, base int64, last bool) int {
	i := 0
	for i < len(b) {
		rest := b[i:]
		at := base + int64(i)
		n := frameLen(rest)
		if n == 0 && len(rest) < frameHead && !last {
			return i
		}
		if n == 0 || at+int64(n) > s.size || binary.LittleEndian.Uint16(rest[1:]) != frameTag(at) {
			i += nextMagic(rest)
			continue
		}
		if n > len(rest) {
			if !last {
				return i
			}
			i += nextMagic(rest)
			continue
		}
		if !goodFrame(rest[:n], at) {
			i += nextMagic(rest)
			continue
		}
		if at > s.good {
			s.damaged = append(s.damaged, span{s.good, at})
		}
		if kind := rest[3]; kind != kindCommit && s.apply != nil {
			s.apply(kind, rest[frameHead:n], at)
		}
		i += n
		s.good = base + int64(i)
	}
	return i
}

// nextMagic is how far from the start of b the next frame may start.
func nextMagic(b []byte) int {
	if n := bytes.IndexByte(b[1:], frameMagic); n >= 0 {
		return 1 + n
	}
	return len(b)
}
