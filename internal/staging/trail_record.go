package staging

import (
	"encoding/binary"

	"github.com/penstock-run/penstock/dag"
)

func (t *Trail) append(b []byte) []byte {
	b = append(b, t.Key[:]...)
	if t.Final {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.LittleEndian.AppendUint64(b, KeyHash(t.ItemKey))
	at := len(b)
	b = append(b, 0)
	for i, n := range t.Ends {
		if n > 0 {
			b[at]++
			b = putUint(append(b, byte(i)), uint64(n))
		}
	}
	b = putUint(b, uint64(len(t.needs)))
	for _, need := range t.needs {
		b = putUint(putUint(b, uint64(need.segment)), uint64(need.end))
	}
	b = putUint(b, uint64(len(t.loose)))
	for _, need := range t.loose {
		b = putUint(append(b, need.digest[:]...), uint64(need.length))
	}
	b = putText(b, t.Source)
	b = putText(b, t.ItemKey)
	b = putText(b, t.Run)
	b = append(b, t.Intake[:]...)
	b = append(putUint(b, uint64(len(t.Body))), t.Body...)
	return append(b, t.Origin[:]...)
}

// readHead reads what append writes before the texts.
func (t *Trail) readHead(r *reader) {
	t.Key = r.digest()
	t.Final = r.byte() == 1
	r.take(8) // the key's hash
	for n := r.byte(); n > 0; n-- {
		if i := r.byte(); int(i) < len(t.Ends) {
			t.Ends[i] = uint32(r.uint())
		} else {
			r.short = true
		}
	}
	for n := r.count(); n > 0; n-- {
		t.needs = append(t.needs, segmentEnd{uint32(r.uint()), uint32(r.uint())})
	}
	for n := r.count(); n > 0; n-- {
		t.loose = append(t.loose, looseNeed{r.digest(), uint32(r.uint())})
	}
}

// headLen is how long the head of a record is; 0 where it is none.
func headLen(payload []byte) int {
	r := reader{b: payload}
	r.take(len(dag.Digest{}) + 1 + 8)
	for n := r.byte(); n > 0; n-- {
		if int(r.byte()) >= len(Tally{}) {
			return 0
		}
		r.uint()
	}
	for n := r.count(); n > 0; n-- {
		r.uint()
		r.uint()
	}
	for n := r.count(); n > 0; n-- {
		r.digest()
		r.uint()
	}
	if r.short {
		return 0
	}
	return len(payload) - len(r.b)
}

func decodeTrail(payload []byte) *Trail {
	r := reader{b: payload}
	t := &Trail{}
	t.readHead(&r)
	t.Source, t.ItemKey, t.Run = r.text(), r.text(), r.text()
	t.Intake = r.digest()
	t.Body = append([]byte(nil), r.take(r.count())...)
	if len(r.b) > 0 { // older records end here
		t.Origin = r.digest()
	}
	if r.short {
		return nil
	}
	return t
}
