package gate

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

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
		got, end, err := readRecord(bytes.NewReader(b), 0, int64(len(b)))
		if err != nil || end != int64(len(b)) {
			t.Fatalf("end %d of %d, %v", end, len(b), err)
		}
		if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got)); diff != "" {
			t.Fatal(diff)
		}
		// Cut anywhere, or with one bit changed, it is no record.
		cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		if _, _, err := readRecord(bytes.NewReader(b[:cut]), 0, int64(cut)); err != errNoRecord {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		b[cut] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, _, err := readRecord(bytes.NewReader(b), 0, int64(len(b))); err != errNoRecord {
			t.Fatalf("changed at %d: %v", cut, err)
		}
	})
}

func FuzzJournal(f *testing.F) {
	b, _ := encodeRecord(nil, record{1, 2, []write{{"data/a", 3, []byte("x\n")}}})
	f.Add(b)
	f.Add(encodeHeader(1))
	f.Fuzz(func(t *testing.T, b []byte) {
		decodeHeader(b)
		r, end, err := readRecord(bytes.NewReader(b), 0, int64(len(b)))
		if err != nil {
			return
		}
		again, err := encodeRecord(nil, r)
		if err != nil || !bytes.Equal(again, b[:end]) {
			t.Fatalf("%+v is written otherwise", r)
		}
	})
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
