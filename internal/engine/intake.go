package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/source"
	"github.com/penstock-run/penstock/internal/staging"
)

// intake is where items come from: the sources, read lazily, and behind them
// the items that another process had claimed when this one came to them.
type intake struct {
	reader  Records
	ended   bool
	seq     uint64
	seen    map[uint64]uint64          // hash of a key → start of its raw digest
	sources map[*dag.Source]dag.Digest // how each makes items, for intakeKey
	ways    map[*dag.Source]dag.Digest // and where they go, for trailKey
	keyBuf  []byte
	pending []*candidateItem // read, not yet claimed
	others  []*candidateItem // claimed by another process
}

// candidateItem is a record that no look-up answered, kept until it is claimed.
type candidateItem struct {
	source *dag.Source
	place  string
	digest dag.Digest // of raw
	key    dag.Digest // whole-trail key
	intake dag.Digest // of the record and its source
	doc    []byte     // the record as JSON, not yet canonical
	err    error      // of the record's format
	seq    uint64
}

func (i *intake) done(e *engine) bool {
	return (i.ended || e.stop.admit) && len(i.pending) == 0
}

// admit takes in items while there is room. An item whose whole trail is known
// costs one line read and one look-up.
func (e *engine) admit() error {
	for !e.intake.ended && !e.stop.admit && e.hasRoom() {
		record, err := e.intake.reader.Next()
		if errors.Is(err, io.EOF) {
			e.intake.ended = true
			break
		}
		if err != nil {
			return err
		}
		if err := e.take1(record); err != nil {
			return err
		}
		if len(e.intake.pending) >= claimMost {
			if err := e.claim(); err != nil {
				return err
			}
		}
	}
	if e.stop.admit {
		e.intake.pending = nil
		return nil
	}
	return e.claim()
}

// hasRoom reports whether another item may be taken in: not while enough visits
// wait for capacity, and never more than the bound of those that wait for a turn.
func (e *engine) hasRoom() bool {
	pending := len(e.intake.pending)
	return e.items.open+pending < e.items.most && e.queued()+len(e.ready)+pending < max(e.Jobs, claimMost)
}

// take1 answers a record from its whole trail, or keeps it to be claimed.
func (e *engine) take1(record *source.Record) error {
	if !e.chosen(record) {
		return nil
	}
	i := &e.intake
	i.seq++
	raw := dag.Sum(record.Raw)
	key := e.trailKey(record, raw)
	if head, ok := e.store.Trail(key); ok && !e.Force && e.finished(head) && e.settled(head, record.Place(), raw) {
		e.planning.keepTrail(key)
		return nil
	}
	intake := e.intakeKey(record, raw)
	if e.planning != nil && e.planKnown(intake, raw) {
		return nil
	}
	c := &candidateItem{source: record.Source, place: record.Place(), digest: raw, key: key, intake: intake, seq: i.seq}
	doc, err := record.Document()
	c.doc, c.err = append([]byte(nil), doc...), err
	if err := validKey(c.place); err != nil {
		c.place = placeKey(c.place)
		if c.err == nil && record.Source.Key == nil {
			c.err = fmt.Errorf("the record's place cannot be its key: %w; give the source a `key`, or the file another name", err)
		}
	}
	i.pending = append(i.pending, c)
	return nil
}

// settled takes in an item that was finished before, and reports whether that is
// all: another may have its key.
func (e *engine) settled(head staging.TrailHead, place string, raw dag.Digest) bool {
	if e.intake.seen != nil {
		switch e.known(head.KeyHash, raw) {
		case keyAgain:
			key := "?"
			if trail, err := e.store.LoadTrail(head); err == nil {
				key = trail.ItemKey
			}
			e.skip(place, key)
			return true
		case keyOther:
			return false
		}
	}
	e.tally.settled(head)
	if e.planning != nil {
		e.planning.Settled++
	}
	return true
}

// skip leaves a record out whose key has come up before, with the same bytes.
func (e *engine) skip(place, key string) {
	e.tally.Duplicates++
	e.Report.Warn(fmt.Sprintf("%s: key %q a second time, with the same bytes: skipped", place, key))
}

// trailKey names all that an item's whole way depends on: the graph, the
// plugins, the corpus, how its source makes items of records, and the record's
// own bytes; and where the key is the record's place, that place.
func (e *engine) trailKey(record *source.Record, raw dag.Digest) dag.Digest {
	return e.recordKey(e.intake.ways[record.Source], record, raw)
}

// intakeKey names all that it depends on whether a record is taken in, and as
// what: its bytes, and how its source reads them.
func (e *engine) intakeKey(record *source.Record, raw dag.Digest) dag.Digest {
	return e.recordKey(e.intake.sources[record.Source], record, raw)
}

func (e *engine) recordKey(of dag.Digest, record *source.Record, raw dag.Digest) dag.Digest {
	b := append(e.intake.keyBuf[:0], of[:]...)
	b = append(b, record.Source.Name...)
	b = append(b, 0)
	b = append(b, raw[:]...)
	if record.Source.Key == nil {
		b = append(b, record.File...)
		b = binary.BigEndian.AppendUint64(append(b, 0), uint64(record.Line))
	}
	e.intake.keyBuf = b
	return dag.Sum(b)
}

// sourceKeys digests how each source makes items of its records.
func (e *engine) sourceKeys() map[*dag.Source]dag.Digest {
	keys := map[*dag.Source]dag.Digest{}
	for _, s := range e.Graph.Sources {
		b := []byte("intake/1\n" + s.Format + "\n" + string(s.Code) + "\n")
		for _, x := range []dag.Expr{s.Key, e.Graph.Gate.Bucket} {
			d := dag.Digest{}
			if x != nil {
				d = x.Digest()
			}
			b = append(b, d[:]...)
		}
		if s.Schema != nil {
			d := s.Schema.Source().Digest
			b = append(b, d[:]...)
		}
		keys[s] = dag.Sum(b)
	}
	return keys
}

// claim takes what is pending for this process; what another holds waits until
// that is done with it.
func (e *engine) claim() error {
	pending := e.intake.pending
	e.intake.pending = nil
	if len(pending) == 0 {
		return nil
	}
	if e.planning == nil {
		keys := make([]dag.Digest, len(pending))
		for n, c := range pending {
			keys[n] = c.key
		}
		got, err := e.store.Claim(keys)
		if err != nil {
			return err
		}
		mine := pending[:0]
		for n, c := range pending {
			if !got[n] {
				e.intake.others = append(e.intake.others, c)
				continue
			}
			// It may have been finished between the look-up and the claim.
			if head, ok := e.store.Trail(c.key); ok && e.finished(head) && e.settled(head, c.place, c.digest) {
				continue
			}
			mine = append(mine, c)
		}
		pending = mine
	}
	for _, c := range pending {
		// With -B only what was claimed is looked up: see above.
		if e.planning != nil && e.Force {
			if head, ok := e.store.Trail(c.key); ok && e.finished(head) && e.settled(head, c.place, c.digest) {
				continue
			}
		}
		e.start(c)
	}
	return nil
}

// waitForOthers looks again for the items that another process had claimed. It
// reports whether there is more to do.
func (e *engine) waitForOthers(ctx context.Context) (bool, error) {
	if len(e.intake.others) == 0 || e.stop.admit {
		return false, nil
	}
	if err := e.flush(true); err != nil {
		return false, err
	}
	others := e.intake.others
	e.intake.others = nil
	if run, pid, alive := e.store.Holder(others[0].key); alive {
		e.Report.Warn(fmt.Sprintf("waiting for what run %s (pid %d) has begun: %d of the items", run, pid, len(others)))
	}
	e.waits.others.begin(time.Now())
	defer func() { e.waits.others.end(time.Now()) }()
	for {
		if err := e.store.Refresh(); err != nil {
			return false, err
		}
		waiting := others[:0]
		for _, c := range others {
			if head, ok := e.store.Trail(c.key); ok && e.finished(head) && e.settled(head, c.place, c.digest) {
				continue
			}
			waiting = append(waiting, c)
		}
		others = waiting
		e.intake.pending = append(e.intake.pending, others...)
		if err := e.claim(); err != nil {
			return false, err
		}
		others, e.intake.others = e.intake.others, nil
		if len(e.ready) > 0 || e.items.open > 0 {
			e.intake.others = others
			return true, nil
		}
		if len(others) == 0 {
			return false, nil
		}
		select {
		case <-time.After(claimPoll):
		case <-e.Interrupt:
			e.interrupted()
			return false, nil
		case <-ctx.Done():
			e.stop.interrupt = true
			return false, nil
		}
	}
}

// start makes an item of a record. What is wrong with it ends it before its
// first visit, with a code and its place, and the gate hears of it.
func (e *engine) start(c *candidateItem) {
	f := &family{seq: c.seq, key: c.key, intake: c.intake, source: c.source.Name, place: c.place}
	it := &item{key: c.place}
	f.add(it)
	e.items.open++
	e.tally.TakenIn++
	bucketName, failure := e.identify(c, it)
	f.bucket = e.bucket(bucketName)
	f.bucket.families = append(f.bucket.families, f)
	if failure == nil {
		if known := e.knownKey(it.key, c.digest); known == keyAgain {
			e.tally.TakenIn--
			e.skip(c.place, it.key)
			e.drop(f)
			return
		} else if known == keyOther {
			failure = dag.Fail(dag.EDuplicateKey, "%s: key %q stands before with other bytes; give each item a key of its own", c.place, it.key)
		}
	}
	if failure != nil {
		it.key = c.place // its key is that of whoever is taken in under it
	}
	it.refused = failure
	e.traceItem(it)
	e.takeUp(f)
	if e.planning != nil && e.planStart(it, bucketName) {
		return
	}
	switch {
	case failure != nil:
	case e.planning == nil && e.gate.Tripped(bucketName):
		e.ended(it, dag.NotStarted)
		return
	default:
		it.t = e.Graph.Start(dag.Item{Key: it.key, Origin: it.origin}, e.runDoc).WithLoad(e.store.Get)
	}
	if !it.origin.IsNull() {
		if err := e.keep(it, it.origin); err != nil {
			e.park(it, err)
			return
		}
	}
	e.ready = append(e.ready, it)
}

// drop takes a family out again that never was one. Its claim stays: it is that
// of the record before, which may be at work.
func (e *engine) drop(f *family) {
	b := f.bucket
	b.families = b.families[:len(b.families)-1]
	e.items.open--
}

// identify reads an item's document, key and bucket.
func (e *engine) identify(c *candidateItem, it *item) (string, *dag.Failure) {
	code := dag.EInput
	if c.source.Code != "" {
		code = c.source.Code
	}
	refuse := func(format string, args ...any) *dag.Failure {
		f := dag.Fail(code, c.place+": "+format, args...)
		if code != dag.EInput {
			f.Cause = dag.EInput
		}
		return f
	}
	if c.err != nil {
		return "", refuse("%v", c.err)
	}
	canonical, err := canon.Canonical(make([]byte, 0, len(c.doc)), c.doc)
	if err != nil {
		return "", refuse("%v", err)
	}
	it.origin = dag.NewDoc(canonical)
	// A document that misfits may have no usable key or bucket: the misfit is
	// the better word.
	var misfit *dag.Failure
	if s := c.source.Schema; s != nil {
		if err := s.Validate(canonical); err != nil {
			misfit = refuse("does not fit %s: %v", s.Name(), err)
		}
	}
	if c.source.Key != nil {
		key, err := itemKey(c.source, it.origin)
		if err != nil && misfit == nil {
			misfit = refuse("key: %v", err)
		} else if err == nil {
			it.key = key
		}
	}
	bucketName := "all"
	if b := e.Graph.Gate.Bucket; b != nil {
		if bucketName, err = b.Text(originScope{it.origin}); err == nil {
			err = gate.ValidBucket(bucketName)
		}
		if err != nil {
			if misfit == nil {
				misfit = dag.Fail(dag.EBucket, "%s: %v", c.place, err)
			}
			return "", misfit
		}
	}
	return bucketName, misfit
}

// validKey refuses what could not be printed, or would not stay one line.
func validKey(key string) error {
	switch {
	case key == "":
		return errors.New("it is empty")
	case len(key) > 256:
		return fmt.Errorf("it has %d bytes; a key has at most 256", len(key))
	case !utf8.ValidString(key):
		return fmt.Errorf("%q is not UTF-8", key)
	case strings.ContainsFunc(key, unicode.IsControl):
		return fmt.Errorf("%q has a control character", key)
	}
	return nil
}

// placeKey names a place that cannot be a key by one that can: so much of it as
// may be printed, and its digest.
func placeKey(place string) string {
	const most = 200
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(place, "\uFFFD"))
	for len(clean) > most {
		_, size := utf8.DecodeRuneInString(clean)
		clean = clean[size:]
	}
	return clean + " " + dag.Sum([]byte(place)).Short()
}

func (e *engine) bucket(name string) *bucket {
	b := e.buckets[name]
	if b == nil {
		b = &bucket{name: name}
		e.buckets[name] = b
	}
	return b
}

// What known says of a key.
type keyState int

const (
	keyNew   keyState = iota
	keyAgain          // with the same bytes
	keyOther          // with other bytes
)

func (e *engine) knownKey(key string, raw dag.Digest) keyState {
	if e.intake.seen == nil {
		return keyNew
	}
	return e.known(staging.KeyHash(key), raw)
}

func (e *engine) known(hash uint64, raw dag.Digest) keyState {
	start := binary.BigEndian.Uint64(raw[:])
	first, ok := e.intake.seen[hash]
	switch {
	case !ok:
		e.intake.seen[hash] = start
		return keyNew
	case first == start:
		return keyAgain
	}
	return keyOther
}
