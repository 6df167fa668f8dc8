package similar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
)

func sample(t testing.TB) []byte {
	x := mustNew(t, 17, 20)
	x.least = 4
	for i := range 12 {
		mustAdd(t, x, []string{"history", "music"}[i%2], fmt.Sprintf("who took the town number %d in year %d", i, i*i), uint64(i)<<40)
	}
	var b bytes.Buffer
	if _, err := x.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sealed gives a changed snapshot a CRC that is right.
func sealed(b []byte) []byte {
	b = bytes.Clone(b)
	body := b[:len(b)-4]
	binary.LittleEndian.PutUint32(b[len(body):], crc32.Checksum(body, castagnoli))
	return b
}

func TestDamagedSnapshots(t *testing.T) {
	good := sample(t)
	if _, _, err := Read(good); err != nil {
		t.Fatal(err)
	}
	for n := range good {
		if x, _, err := Read(good[:n]); err == nil {
			t.Fatalf("cut to %d bytes: %v", n, x.Len())
		}
		bad := bytes.Clone(good)
		bad[n] ^= 0x40
		if x, _, err := Read(bad); err == nil {
			t.Fatalf("byte %d changed: %v", n, x.Len())
		}
	}
}

// TestSealedSnapshots: with a CRC that is right, an index is refused or is one that
// can be asked and added to.
func TestSealedSnapshots(t *testing.T) {
	good := sample(t)
	refused := 0
	for n := range len(good) - 4 {
		for _, flip := range []byte{1, 0x80, 0xFF} {
			bad := bytes.Clone(good)
			bad[n] ^= flip
			if !usable(t, sealed(bad)) {
				refused++
			}
		}
	}
	if refused < len(good) {
		t.Errorf("%d of %d changes were refused", refused, 3*len(good))
	}
}

func usable(t testing.TB, b []byte) bool {
	x, _, err := Read(b)
	if err != nil {
		return false
	}
	for _, scope := range []string{"history", "music"} {
		for i := range 3 {
			words := strings.Fields(fmt.Sprintf("who took the town number %d in year %d", i, i*i))
			x.Nearest(scope, words)
			if err := x.Add(scope, words, 1); err != nil {
				t.Fatal(err)
			}
			if ref, inter, union, found := x.Nearest(scope, words); !found || inter != union {
				t.Fatalf("what was just added is not found: %d %d %d", ref, inter, union)
			}
		}
	}
	return true
}

func FuzzRead(f *testing.F) {
	good := sample(f)
	f.Add(good)
	f.Add([]byte("PSIMILAR"))
	f.Add(good[:len(good)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, _, err := Read(b); err != nil && !errors.Is(err, errSnapshot) && x != nil {
			t.Fatal(err)
		}
		if len(b) > 4 {
			usable(t, sealed(b))
		}
	})
}

type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(b), nil
}

func TestSnapshotThatCannotBeWritten(t *testing.T) {
	x := mustNew(t, 1, 2)
	mustAdd(t, x, "", count(1, 50), 1)
	for left := range 100 {
		if _, err := x.WriteTo(&failing{left}); err == nil {
			t.Fatalf("%d bytes are enough", left)
		}
	}
}
