package gate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/text"
)

// Options open a gate.
type Options struct {
	Dir       string     // the pipeline's directory; the paths of the corpus are relative to it
	Pipeline  string     // its name, a part of every accept key
	Gate      *dag.Gate  // what to check and where to write
	Digest    dag.Digest // of what decides; zero: DigestOf(Gate)
	RunID     string
	StartedAt time.Time

	// Pages is what the checks of the network phase read with; nil: the web, by a
	// client of the gate's own. Where pages come from is a part of every accept key.
	Pages Pages

	DryRun   bool // evaluate, commit nothing
	ReadOnly bool // refuse to commit

	Now         func() time.Time // nil: time.Now
	LockTimeout time.Duration    // zero: 30 s
	Log         func(string)     // what was mended, one line each; nil: nobody asks
}

// Pages reads pages of the web, or answers from what was recorded of them. Its
// methods may be called by several goroutines.
type Pages interface {
	// Read reads the page at an address. What the address came to stands in the
	// page; an error is about the reader itself (the context's end, a page that is
	// not recorded), and then nothing is known of the address.
	Read(ctx context.Context, address string, timeout time.Duration) (*dag.Page, error)
	// Source identifies where pages come from: zero for the web, the digest of what
	// was recorded for a recording, so that a recorded page is never taken for one
	// that was read now.
	Source() dag.Digest
}

// Gate is an open gate. Its methods may be called by several goroutines.
type Gate struct {
	o       Options
	spec    *dag.Gate
	digest  dag.Digest
	pages   Pages // of o, or the gate's own
	checks  []*check
	run     dag.Doc // what expressions read as `run`
	rooms   rooms
	ledger  *ledger
	breaker *breakers

	corpusMu sync.Mutex
	corpus   dag.Digest

	queue queue // candidates that wait for a commit

	// What follows is used by one commit at a time.
	writing sync.Mutex
	locker  *locker
	store   *store // nil in a dry run, and where the gate is opened for reading
	dry     *batch // what a dry run would have committed so far
	closed  bool
}

// bucketPart is what may stand between the slashes of a bucket's name.
var bucketPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`) })

// ValidBucket says why a bucket's name is not usable as a path; nil if it is.
func ValidBucket(name string) error {
	if len(name) > 200 {
		return dag.Fail(dag.EBucket, "the bucket's name has %d bytes; at most 200 are usable", len(name))
	}
	for part := range strings.SplitSeq(name, "/") {
		if !bucketPart().MatchString(part) {
			return dag.Fail(dag.EBucket, "the bucket's name %q is not usable as a path: each part between slashes must match [a-z0-9][a-z0-9_-]*", name)
		}
	}
	return nil
}

// Open opens a corpus. For writing it finishes what an earlier process committed
// and did not write, and refuses a corpus that something else has changed.
func Open(ctx context.Context, o Options) (*Gate, error) {
	return open(ctx, o, func(string) {})
}

// open is Open with a hook at the points where a crash is told apart.
func open(ctx context.Context, o Options, at func(point string)) (*Gate, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = 30 * time.Second
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if err := validate(o.Gate); err != nil {
		return nil, &dag.Error{Op: "open the gate", Kind: dag.KindConfig, Err: err}
	}
	g := &Gate{o: o, spec: o.Gate, digest: o.Digest, rooms: rooms{}}
	if g.digest.IsZero() {
		g.digest = DigestOf(o.Gate)
	}
	if g.pages = o.Pages; g.pages == nil {
		g.pages = &ownPages{allow: o.Gate.AllowHosts}
	}
	g.digest = digestOver(g.digest, o.Gate, g.pages)
	var err error
	if g.checks, err = compileChecks(o.Gate); err != nil {
		return nil, &dag.Error{Op: "open the gate", Kind: dag.KindConfig, Err: err}
	}
	if g.run, err = runDoc(o); err != nil {
		return nil, &dag.Error{Op: "open the gate", Kind: dag.KindConfig, Err: err}
	}
	g.ledger = newLedger(o.Dir, o.Gate)
	g.breaker = newBreakers(o.Dir, o.Gate.Breaker)
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
		return nil, &dag.Error{Op: "open the corpus", Subject: o.Dir, Kind: dag.KindInfrastructure, Code: dag.EStore, Err: errors.New("the directory is not there")}
	}
	if !g.writes() {
		if st, _, err := (&store{d: osDisk{o.Dir}}).readState(); err == nil {
			tellMissing(o.Dir, st.Files, g.o.Log)
		}
		g.corpus, err = readIdentity(osDisk{o.Dir}, o.Gate.Corpus.Evidence)
		if err == nil {
			err = g.breaker.refresh(-1)
		}
		if err == nil {
			err = g.breaker.takePending(osDisk{o.Dir})
		}
		if err == nil {
			err = g.knowsTexts()
		}
		return g, corpusError(err)
	}
	err = g.openForWriting(ctx, at)
	if err == nil {
		err = g.knowsTexts()
	}
	if err != nil {
		_ = g.Close()
		return nil, corpusError(err)
	}
	return g, nil
}

// knowsTexts refuses a corpus whose records a check "novel" could not compare with.
// It is asked only where they do not tell their texts themselves: then all rows are
// read, which otherwise waits for the first candidate.
func (g *Gate) knowsTexts() error {
	g.ledger.bind(g.Corpus(), g.o.Log)
	for _, s := range g.ledger.shelves {
		if !s.recorded {
			return g.ledger.load()
		}
	}
	return nil
}

func (g *Gate) writes() bool { return !g.o.DryRun && !g.o.ReadOnly }

func (g *Gate) openForWriting(ctx context.Context, at func(string)) error {
	if err := os.MkdirAll(filepath.Join(g.o.Dir, metaDir), 0o755); err != nil {
		return err
	}
	if err := localDisk(filepath.Join(g.o.Dir, metaDir)); err != nil {
		return err
	}
	g.locker = newLocker(filepath.Join(g.o.Dir, lockPath), g.o.LockTimeout, g.o.Now)
	held, err := g.locker.Lock(ctx)
	if err != nil {
		return err
	}
	defer held.Unlock()
	d := osDisk{g.o.Dir}
	if g.store, err = openStore(d, g.o.Log, at); err != nil {
		return err
	}
	if err := g.store.begin(); err != nil {
		return err
	}
	tellMissing(g.o.Dir, g.store.files, g.o.Log)
	for _, path := range g.ownLogs() {
		if _, err := g.store.settle(path); err != nil {
			return err
		}
	}
	if err := g.breaker.refresh(-1); err != nil {
		return err
	}
	g.corpus, err = readIdentity(d, g.spec.Corpus.Evidence)
	if err == nil && g.corpus.IsZero() {
		g.corpus, err = makeIdentity(d, g.spec.Corpus.Evidence, g.o.Now())
	}
	return err
}

// ownLogs are the files that every commit may write to.
func (g *Gate) ownLogs() []string {
	var paths []string
	for _, log := range g.ledger.logs {
		if log != nil {
			paths = append(paths, log.path)
		}
	}
	if g.spec.Breaker != nil {
		paths = append(paths, breakersPath)
	}
	return paths
}

// Corpus identifies the corpus: a random digest, made once and kept in meta/. It
// is zero where the corpus has none yet and the gate is not open for writing.
func (g *Gate) Corpus() dag.Digest {
	g.corpusMu.Lock()
	defer g.corpusMu.Unlock()
	return g.corpus
}

// Sequence is the number of the last accepted record that this process knows of.
func (g *Gate) Sequence() (uint64, error) {
	if err := g.ledger.load(); err != nil {
		return 0, corpusError(err)
	}
	sequence, _ := g.ledger.tip()
	return sequence, nil
}

// Close makes what was committed durable in its own files and gives everything
// back. What it cannot do now, the next Open does: nothing is lost by an error.
func (g *Gate) Close() error {
	g.writing.Lock()
	defer g.writing.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	var err error
	if g.store != nil {
		err = g.checkpointAndClose()
	}
	if g.locker != nil {
		g.locker.close()
	}
	if own, ok := g.pages.(*ownPages); ok {
		err = errors.Join(err, own.close())
	}
	g.ledger.close()
	return corpusError(err)
}

func (g *Gate) checkpointAndClose() error {
	defer g.store.close()
	// Without a commit nothing of this process's own waits in the journal.
	switch {
	case g.store.records > 0:
		return g.checkpointLocked()
	case g.ledger.due(indexShareAtEnd):
		if err := g.checkpointLocked(); err != nil {
			g.o.Log(indexPath + " could not be written: " + err.Error())
		}
	}
	return nil
}

func (g *Gate) checkpointLocked() error {
	held, err := g.locker.Lock(context.Background())
	if err != nil {
		return err
	}
	defer held.Unlock()
	if err := g.store.begin(); err != nil {
		return err
	}
	if err := g.store.checkpoint(); err != nil {
		return err
	}
	g.keepIndex(indexShareAtEnd)
	return nil
}

// identity is meta/.corpus.json.
type identity struct {
	Corpus    dag.Digest `json:"corpus"`
	CreatedAt string     `json:"created_at"`
	Evidence  string     `json:"evidence"` // the file's path; a directory holds one corpus
	Text      int        `json:"text"`     // version of the rules that its keys were made with
	Version   int        `json:"version"`
}

func readIdentity(d disk, evidence string) (dag.Digest, error) {
	b, err := d.read(identityPath)
	if errors.Is(err, fs.ErrNotExist) {
		return dag.Digest{}, nil
	}
	if err != nil {
		return dag.Digest{}, err
	}
	var id identity
	if err := json.Unmarshal(b, &id); err != nil || id.Version != 1 || id.Corpus.IsZero() {
		return dag.Digest{}, &errEdited{identityPath, "it is not the identity of a corpus that this version understands"}
	}
	if id.Text != text.Version {
		return dag.Digest{}, &errEdited{identityPath, fmt.Sprintf("its keys were made by version %d of the text rules, this is version %d", id.Text, text.Version)}
	}
	if id.Evidence != "" && id.Evidence != evidence {
		return dag.Digest{}, &dag.Error{Op: "open the corpus", Kind: dag.KindConfig,
			Err:  fmt.Errorf("the evidence of the corpus in this directory is %s, and the gate names %s", id.Evidence, evidence),
			Hint: "a directory holds one corpus: give a second one a directory of its own"}
	}
	return id.Corpus, nil
}

func makeIdentity(d disk, evidence string, now time.Time) (dag.Digest, error) {
	id := identity{CreatedAt: timestamp(now), Evidence: evidence, Text: text.Version, Version: 1}
	_, _ = rand.Read(id.Corpus[:]) // it cannot fail
	row, err := rowOf(id)
	if err != nil {
		return dag.Digest{}, err
	}
	return id.Corpus, d.replace(identityPath, row)
}

// corpusError makes any error an error of the corpus.
func corpusError(err error) error {
	if err == nil {
		return nil
	}
	var known *dag.Error
	if errors.As(err, &known) {
		return err
	}
	var edited *errEdited
	if errors.As(err, &edited) {
		return &dag.Error{Op: "use the corpus", Kind: dag.KindDiffers, Err: err,
			Hint: "penstock audit says which lines are wrong and what to do about them"}
	}
	hint := ""
	var timeout *lockTimeout
	if errors.As(err, &timeout) {
		hint = "wait for that process, or end it: the kernel frees its locks"
	}
	return &dag.Error{Op: "use the corpus", Kind: dag.KindInfrastructure, Code: dag.EStore, Err: err, Hint: hint}
}
