package gate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// memory is a journal in memory.
type memory struct{ *bytes.Reader }

func (m memory) size() (int64, error) { return m.Size(), nil }

func inMemory(b []byte) memory { return memory{bytes.NewReader(b)} }

func TestRecordsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := record{epoch: rapid.Uint64().Draw(t, "epoch"), sequence: rapid.Uint64().Draw(t, "sequence")}
		for range rapid.IntRange(0, 4).Draw(t, "writes") {
			want.writes = append(want.writes, write{
				path: rapid.StringN(0, 20, -1).Draw(t, "path"),
				off:  rapid.Int64Range(0, 1<<40).Draw(t, "off"),
				data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"),
			})
		}
		b, err := encodeRecord(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		got, end, err := readRecord(inMemory(b), 0, want.epoch)
		if err != nil || end != int64(len(b)) {
			t.Fatalf("end %d of %d, %v", end, len(b), err)
		}
		if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got)); diff != "" {
			t.Fatal(diff)
		}
		// Cut anywhere, or with one bit changed, it is no record.
		cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		if _, _, err := readRecord(inMemory(b[:cut]), 0, want.epoch); err != errNoRecord {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if _, _, err := readRecord(inMemory(b), 0, want.epoch+1); err != errNoRecord {
			t.Fatalf("in another epoch: %v", err)
		}
		b[cut] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, _, err := readRecord(inMemory(b), 0, want.epoch); err != errNoRecord {
			t.Fatalf("changed at %d: %v", cut, err)
		}
	})
}

func FuzzJournal(f *testing.F) {
	b, _ := encodeRecord(nil, record{1, 2, []write{{"data/a", 3, []byte("x\n")}}})
	f.Add(b)
	f.Add(encodeHeader(1))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _ = decodeHeader(b)
		var epoch uint64
		if len(b) >= recordFixed {
			epoch = binary.LittleEndian.Uint64(b[8:])
		}
		r, end, err := readRecord(inMemory(b), 0, epoch)
		if err != nil {
			return
		}
		again, err := encodeRecord(nil, r)
		if err != nil || !bytes.Equal(again, b[:end]) {
			t.Fatalf("%+v is written otherwise", r)
		}
	})
}

// A journal as version 0.1 left it, without space behind its records: the batch
// that is committed in it is finished, and work goes on.
func TestOldJournal(t *testing.T) {
	const (
		journal = "PSJH\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00#\xf2\x92\xfcPSJ1d\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00" +
			"\x02\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\f\x00meta/e.jsonl\b\x00\x00\x00\x00\x00\x00\x00\b\x00\x00\x00{\"e\":2}\n\f\x00data/a.jsonl\b\x00\x00\x00" +
			"\x00\x00\x00\x00\b\x00\x00\x00{\"a\":2}\n\x8e\x86\xf2\xf2"
		state = `{"version":1,"epoch":2,"sequence":1,"files":{"data/a.jsonl":{"size":8,"tail":"e346432021b04179518d9614f3560ccd71354a4ee101ddcb893d6959a9d6301c"},` +
			`"meta/e.jsonl":{"size":8,"tail":"ba7c7e78fb4ad8a8ee7ddba1e00d3b18a0d1102bc6e2c2b139bd9d7b05aadec2"}}}`
	)
	for _, tt := range []struct {
		name, journal string
		want          string // in the data file
	}{
		{"one batch", journal, "{\"a\":1}\n{\"a\":2}\n"},
		{"a torn batch", journal[:len(journal)-1], "{\"a\":1}\n"},
		{"none", journal[:headerSize], "{\"a\":1}\n"},
		{"a torn header", journal[:headerSize-1], "{\"a\":1}\n"},
		{"garbage for a header", strings.Repeat("x", headerSize) + journal[headerSize:], "{\"a\":1}\n{\"a\":2}\n"},
		{"garbage for all", strings.Repeat("x", len(journal)), "{\"a\":1}\n"},
		{"nothing", "", "{\"a\":1}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for path, content := range map[string]string{journalPath: tt.journal, statePath: state, "meta/e.jsonl": "{\"e\":1}\n", "data/a.jsonl": "{\"a\":1}\n"} {
				if err := os.MkdirAll(filepath.Dir(inDir(dir, path)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(inDir(dir, path), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := tt.want
			for range 2 { // the second time in a journal that has room
				s := openTestStore(t, dir)
				if err := s.begin(); err != nil {
					t.Fatal(err)
				}
				size, err := s.settle("data/a.jsonl")
				if err != nil {
					t.Fatal(err)
				}
				if err := s.commit([]write{{"data/a.jsonl", size, []byte("{}\n")}}); err != nil {
					t.Fatal(err)
				}
				want += "{}\n"
				if have, _ := s.d.read("data/a.jsonl"); string(have) != want {
					t.Errorf("the file holds %q, want %q", have, want)
				}
			}
		})
	}
}

// A journal of which only later batches can be read is refused: what comes before
// them may have been acknowledged, and is not in its file.
func TestHeadlessJournal(t *testing.T) {
	dir := t.TempDir()
	s := openTestStore(t, dir)
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	commit := func(off int64) {
		t.Helper()
		if err := s.commit([]write{{"data/a.jsonl", off, []byte("{}\n")}}); err != nil {
			t.Fatal(err)
		}
	}
	commit(0)
	if err := s.checkpoint(); err != nil {
		t.Fatal(err)
	}
	commit(3)
	commit(6)
	whole := make([]byte, s.end)
	if err := readFull(s.journal, whole, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(inDir(dir, "data/a.jsonl"), 3); err != nil { // the power was lost
		t.Fatal(err)
	}
	const want = "meta/.journal was changed by something other than the gate: its beginning is neither a header nor a batch, and batches that may not be in their files stand behind it"
	for _, tt := range []struct {
		name  string
		spoil int64 // how many bytes
		want  string
	}{
		{"the header and a part of the first batch", headerSize + 40, want}, // it leaves all as it is
		{"the header", headerSize, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := s.journal.WriteAt(append(bytes.Repeat([]byte{'x'}, int(tt.spoil)), whole[tt.spoil:]...), 0); err != nil {
				t.Fatal(err)
			}
			later := openTestStore(t, dir)
			err := later.begin()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
				t.Errorf("%v; want %q", err, tt.want)
			}
			have, err := later.d.read("data/a.jsonl")
			if err != nil || tt.want == "" && string(have) != "{}\n{}\n{}\n" {
				t.Errorf("the file holds %q, %v", have, err)
			}
		})
	}
}

// Where nothing tells what a journal was, it is begun anew, and what it held is
// set aside before: what was acknowledged may be in it.
func TestJournalOfNothingKnownIsSetAside(t *testing.T) {
	dir := t.TempDir()
	s := openTestStore(t, dir)
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := s.commit([]write{{"data/a.jsonl", int64(3 * i), []byte("{}\n")}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.journal.WriteAt(bytes.Repeat([]byte{'x'}, headerSize+40), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(inDir(dir, statePath)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	spoilt, err := s.d.read(journalPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := openTestStore(t, dir).begin(); err != nil {
		t.Fatal(err)
	}
	aside, err := s.d.read(journalPath + asideExt)
	if err != nil || !bytes.Equal(aside, spoilt) {
		t.Errorf("%d bytes were set aside of %d, %v", len(aside), len(spoilt), err)
	}
}

func openTestStore(t testing.TB, dir string) *store {
	t.Helper()
	silent := func(string) {}
	s, err := openStore(osDisk{dir}, silent, silent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// A journal of a later format is refused, for it may hold what is committed.
func TestR75NewerJournal(t *testing.T) {
	dir := t.TempDir()
	s := openTestStore(t, dir)
	header := encodeHeader(7)
	header[4] = 2
	binary.LittleEndian.PutUint32(header[20:], crc32.Checksum(header[:20], castagnoli))
	if _, err := s.journal.WriteAt(header, 0); err != nil {
		t.Fatal(err)
	}
	const want = "meta/.journal has format 2 and this version reads format 1: commit what waits in it with the version that wrote it"
	if err := s.begin(); err == nil || err.Error() != want {
		t.Errorf("for writing: %v", err)
	}
	if err := eachPending(osDisk{dir}, func(record) {}); err == nil || err.Error() != want {
		t.Errorf("for reading: %v", err)
	}
}

// A batch may go to more files than are kept open, and a huge one makes a journal
// whose space is given back.
func TestLargeBatches(t *testing.T) {
	dir := t.TempDir()
	s := openTestStore(t, dir)
	var many []write
	for i := range maxOpenTargets + 50 {
		many = append(many, write{fmt.Sprintf("data/%d.jsonl", i), 0, []byte("{}\n")})
	}
	huge := []write{{"data/huge.jsonl", 0, []byte(`"` + strings.Repeat("x", roomLast+1<<20) + "\"\n")}}
	for i, batch := range [][]write{many, huge, {{"data/0.jsonl", 3, []byte("{}\n")}}} {
		if err := s.begin(); err != nil {
			t.Fatal(err)
		}
		if err := s.commit(batch); err != nil {
			t.Fatal(err)
		}
		if size, _ := s.journal.size(); (size > roomLast) != (i == 1) {
			t.Errorf("batch %d: the journal has %d bytes", i, size)
		}
		if i == 1 {
			if err := s.checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if have, _ := s.d.read("data/0.jsonl"); string(have) != "{}\n{}\n" {
		t.Errorf("%q", have)
	}
}

// The index proposes every place that was added, and little else.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x index
		want := map[key][]place{}
		n := rapid.IntRange(0, 400).Draw(t, "n")
		for i := range n {
			k := keyOf(fmt.Sprint(rapid.IntRange(0, n/2).Draw(t, "key")))
			p := placeOf(evidenceLog, int64(i))
			x.add(k, p)
			want[k] = append(want[k], p)
		}
		for k, places := range want {
			found := map[place]bool{}
			for p := range x.places(k) {
				found[p] = true
			}
			for _, p := range places {
				if !found[p] {
					t.Fatalf("place %d of key %s is not found", p, k)
				}
			}
			if len(found) != len(places) {
				t.Fatalf("%d places for %d", len(found), len(places))
			}
		}
		for range x.places(keyOf("none of them")) {
			t.Fatal("a key that was not added is found")
		}
		if n > 64 && len(x.slots)*16 > 28*n {
			t.Fatalf("%d bytes an entry", len(x.slots)*16/n)
		}
	})
}
