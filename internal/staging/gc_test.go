package staging

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
)

var gcNow = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// past is an item that was done some days ago: two visits, two artifacts, a trail.
type past struct {
	n    int // names the item
	pass int // of several records of one item
	days int
	end  dag.End
	size int // of the second artifact
}

func (p past) run() string {
	return gcNow.Add(-time.Duration(p.days)*24*time.Hour).Format("20060102T150405Z") + "-00000" + fmt.Sprint(p.pass)
}

func (p past) docs() [2]dag.Doc {
	return [2]dag.Doc{
		dag.NewDoc(fmt.Appendf(nil, `{"first":%d}`, p.n)),
		dag.NewDoc(fmt.Appendf(nil, `{"second":%d,"pass":%d,"text":"%s"}`, p.n, p.pass, strings.Repeat("y", p.size))),
	}
}

func (p past) action(visit int) dag.Digest { return digest("action %d %d %d", p.n, p.pass, visit) }
func (p past) key() dag.Digest             { return digest("trail %d %d", p.n, p.pass) }
func (p past) item() string                { return fmt.Sprintf("item/%d", p.n) }

// write stores what the item left. Its trail's body names all that it stands on.
func (p past) write(t testing.TB, s *Store) {
	t.Helper()
	trail := &Trail{Key: p.key(), Source: "items", ItemKey: p.item(), Run: p.run(), Final: p.end.Final()}
	trail.Ends[slices.Index(dag.Ends, p.end)] = 1
	input := dag.Digest{}
	for visit, doc := range p.docs() {
		ref := must[Ref](t)(s.Put(doc))
		check(t, s.PutAction(&Action{Digest: p.action(visit), Recipe: digest("recipe %d", p.pass), Stage: "s", Input: input, Output: doc.Digest, OutputRef: ref, Word: "ok", Run: p.run()}))
		trail.Need(ref, doc.Digest)
		a := p.action(visit)
		trail.Body = append(append(trail.Body, a[:]...), doc.Digest[:]...)
		input = doc.Digest
	}
	check(t, s.PutTrail(trail))
}

// reachOf reads what write put into a trail's body.
func reachOf(t *Trail) (r Reach, err error) {
	for b := t.Body; len(b) >= 64; b = b[64:] {
		r.Actions, r.Artifacts = append(r.Actions, dag.Digest(b)), append(r.Artifacts, dag.Digest(b[32:]))
	}
	return r, nil
}

// there says what is left of it: the trail, its actions, its artifacts.
func (p past) there(t testing.TB, s *Store) string {
	t.Helper()
	var have []string
	if head, ok := s.Trail(p.key()); ok {
		if full, err := s.LoadTrail(head); err != nil || full.ItemKey != p.item() || full.Run != p.run() {
			t.Fatalf("item %d has another trail: %v, %v", p.n, full, err)
		}
		have = append(have, "trail")
	}
	for visit, doc := range p.docs() {
		if a, ok, err := s.Action(p.action(visit)); err != nil {
			t.Fatal(err)
		} else if ok {
			b, err := s.Read(a.OutputRef, a.Output)
			if err != nil || dag.Sum(b) != doc.Digest {
				t.Fatalf("item %d: its action answers with %q, %v", p.n, b, err)
			}
			have = append(have, fmt.Sprintf("action %d", visit))
		}
		if b, err := s.Get(doc.Digest); err == nil && dag.Sum(b) == doc.Digest {
			have = append(have, fmt.Sprintf("artifact %d", visit))
		} else if !errors.Is(err, ErrAbsent) {
			t.Fatal(err)
		}
	}
	return strings.Join(have, ", ")
}

const (
	whole   = "trail, action 0, artifact 0, action 1, artifact 1"
	nothing = ""
)

func writePasts(t testing.TB, dir string, pasts []past) {
	t.Helper()
	s := open(t, dir, Options{RunID: "w"})
	for _, p := range pasts {
		p.write(t, s)
	}
	check(t, s.Close())
}

func bounds() Collection { return Collection{Now: gcNow, Trail: reachOf} }

// survey and collect open the store as the command does.
func survey(t testing.TB, dir string, o Collection) *Collected {
	t.Helper()
	s := open(t, dir, Options{ReadOnly: true})
	c := must[*Collected](t)(s.Survey(o))
	check(t, s.Close())
	return c
}

func collect(t testing.TB, dir string, o Collection) *Collected {
	t.Helper()
	s := open(t, dir, Options{ReadOnly: true, Alone: true})
	c := must[*Collected](t)(s.Collect(o))
	check(t, s.Close())
	return c
}

func bytesOf(t testing.TB, dir string) (n int64) {
	t.Helper()
	for _, content := range files(t, dir) {
		n += int64(len(content))
	}
	return n
}

func TestCollect(t *testing.T) {
	young, old := past{n: 1, days: 2, end: dag.Rejected, size: 100}, past{n: 2, days: 40, end: dag.Rejected, size: 100}
	accepted, parked := past{n: 3, days: 400, end: dag.Accepted, size: 100}, past{n: 4, days: 400, end: dag.Parked, size: 100}
	waiting := past{n: 5, days: 400, end: dag.Waiting, size: 70 << 10}
	large := past{n: 6, days: 41, end: dag.Rejected, size: 70 << 10}
	redone := past{n: 3, pass: 1, days: 300, end: dag.Accepted, size: 100}
	resumed := past{n: 4, pass: 1, days: 300, end: dag.Rejected, size: 100}
	for name, test := range map[string]struct {
		pasts []past
		o     func(*Collection)
		want  []string
	}{
		"no bound": {[]past{young, old, large}, func(*Collection) {}, []string{whole, whole, whole}},
		"by age": {[]past{young, old, accepted, parked, waiting, large}, func(o *Collection) { o.MaxAge = 30 * 24 * time.Hour },
			[]string{whole, nothing, whole, whole, whole, nothing}},
		"by size": {[]past{old, young, accepted, parked, waiting}, func(o *Collection) { o.MaxBytes = 1 },
			[]string{nothing, nothing, whole, whole, whole}},
		"the oldest first": {[]past{large, young, old}, func(o *Collection) { o.MaxBytes = 8 << 10 },
			[]string{nothing, whole, whole}},
		"what a later record of the item has replaced": {[]past{accepted, parked, redone, resumed}, func(o *Collection) { o.MaxAge = time.Hour },
			[]string{"artifact 0", nothing, whole, nothing}},
		"the last runs": {[]past{old, young}, func(o *Collection) { o.MaxAge, o.KeepRuns = time.Hour, 1 }, []string{nothing, whole}},
		"what the caller names": {[]past{old, large, {n: 7, days: 50, end: dag.Failed}}, func(o *Collection) {
			o.MaxAge = time.Hour
			o.Trails = map[dag.Digest]struct{}{old.key(): {}}
			o.Actions = map[dag.Digest]struct{}{large.action(0): {}}
			o.Artifacts = map[dag.Digest]struct{}{past{n: 7}.docs()[0].Digest: {}}
		}, []string{whole, "action 0, artifact 0", "artifact 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writePasts(t, dir, test.pasts)
			w := open(t, dir, Options{RunID: "w"})
			for i, p := range test.pasts {
				check(t, w.StartRun(Run{ID: p.run(), Started: gcNow.Add(-time.Duration(p.days) * 24 * time.Hour), Pipeline: fmt.Sprint(i)}))
			}
			check(t, w.Close())
			o := bounds()
			test.o(&o)
			before := bytesOf(t, dir)
			told := survey(t, dir, o)
			if n := bytesOf(t, dir); n != before {
				t.Errorf("a survey has changed %d bytes to %d", before, n)
			}
			if diff := cmp.Diff(told, collect(t, dir, o)); diff != "" {
				t.Errorf("what was told is not what was done: %s", diff)
			}
			if n := bytesOf(t, dir); n != told.After || before != told.Before {
				t.Errorf("%d bytes became %d, told were %d and %d", before, n, told.Before, told.After)
			}
			s := open(t, dir, Options{})
			for i, p := range test.pasts {
				if diff := cmp.Diff(test.want[i], p.there(t, s)); diff != "" {
					t.Errorf("item %d (-want +got):\n%s", p.n, diff)
				}
			}
			check(t, s.Close())
			wantWholeLines(t, dir)
			if again := collect(t, dir, o); !again.Empty() || again.Before != again.After {
				t.Errorf("a second collection finds more: %+v", again)
			}
		})
	}
}

// A store goes on after a collection: new records, new segments, the same answers.
func TestCollectThenGoOn(t *testing.T) {
	dir := t.TempDir()
	stay, go_ := past{n: 1, days: 2, end: dag.Rejected, size: 10}, past{n: 2, days: 40, end: dag.Rejected, size: 10}
	writePasts(t, dir, []past{go_, stay})
	o := bounds()
	o.MaxAge = 24 * 30 * time.Hour
	collect(t, dir, o)
	writePasts(t, dir, []past{go_}) // made again
	s := open(t, dir, Options{})
	for _, p := range []past{stay, go_} {
		if got := p.there(t, s); got != whole {
			t.Errorf("of item %d there is: %s", p.n, got)
		}
	}
	if recipe := digest("recipe 0"); !s.HasRecipe(recipe) || s.HasRecipe(digest("recipe 1")) {
		t.Error("the recipes are not those of the actions")
	}
	numbers := must[[]uint32](t)(s.numbers())
	if slices.Contains(numbers, 1) {
		t.Errorf("segment 1 was collected, and its number used again: %v", numbers)
	}
}

// A record whose artifact is gone counts as not there before a collection and
// after it, whatever else lies there then; and made again it is whole.
func TestCollectDangling(t *testing.T) {
	dir := t.TempDir()
	lost, other := past{n: 1, days: 1, end: dag.Accepted, size: 10}, past{n: 2, days: 1, end: dag.Accepted, size: 10}
	writePasts(t, dir, []past{lost})
	check(t, os.Remove(filepath.Join(dir, "artifacts/000001.jsonl")))
	writePasts(t, dir, []past{other})
	collect(t, dir, bounds())
	s := open(t, dir, Options{RunID: "w"})
	if got := lost.there(t, s); got != nothing {
		t.Errorf("of the lost item there is: %s", got)
	}
	if got := other.there(t, s); got != whole {
		t.Errorf("of the other item there is: %s", got)
	}
	if trail, ok := s.TrailByItem("items", lost.item()); !ok || trail.Run != lost.run() {
		t.Error("of a record in the corpus nobody can tell any more how it came there")
	}
	lost.write(t, s)
	check(t, s.Flush())
	if got := lost.there(t, s); got != whole {
		t.Errorf("made again, of the lost item there is: %s", got)
	}
}

// A trail of another version keeps all that it may need, as it lies.
func TestCollectForeign(t *testing.T) {
	dir := t.TempDir()
	foreign, old := past{n: 1, days: 40, end: dag.Accepted, size: 70 << 10}, past{n: 2, days: 40, end: dag.Rejected, size: 10}
	writePasts(t, dir, []past{foreign, old})
	o := bounds()
	o.MaxAge = time.Hour
	o.Trail = func(t *Trail) (Reach, error) {
		if t.ItemKey == foreign.item() {
			return Reach{}, errors.New("another version")
		}
		return reachOf(t)
	}
	told := survey(t, dir, o)
	if diff := cmp.Diff(told, collect(t, dir, o)); diff != "" {
		t.Error(diff)
	}
	if n := bytesOf(t, dir); n != told.After {
		t.Errorf("%d bytes are left, told were %d", n, told.After)
	}
	s := open(t, dir, Options{})
	if _, ok := s.Trail(foreign.key()); !ok {
		t.Error("its trail is not answered any more")
	}
	if got := old.there(t, s); strings.Contains(got, "trail") {
		t.Errorf("of the old item there is: %s", got)
	}
}

// Copies of a document that two processes stored at once become one, whichever
// a record points at.
func TestCollectCopies(t *testing.T) {
	dir := t.TempDir()
	p := past{n: 1, days: 1, end: dag.Accepted, size: 10}
	a, b := open(t, dir, Options{RunID: "a"}), open(t, dir, Options{RunID: "b"})
	must[Ref](t)(a.Put(dag.NewDoc([]byte(`{"a":1}`))))
	must[Ref](t)(b.Put(dag.NewDoc([]byte(`{"b":1}`)))) // both have a segment of their own now
	for _, doc := range p.docs() {
		must[Ref](t)(a.Put(doc))
	}
	p.write(t, b)
	check(t, a.Close())
	check(t, b.Close())
	o := bounds()
	o.Artifacts = map[dag.Digest]struct{}{dag.Sum([]byte(`{"a":1}`)): {}}
	collect(t, dir, o)
	s := open(t, dir, Options{})
	if got := p.there(t, s); got != whole {
		t.Errorf("there is: %s", got)
	}
	all := ""
	for name, content := range files(t, dir) {
		if strings.HasSuffix(name, ".jsonl") {
			all += content
		}
	}
	if n := strings.Count(all, `{"first":1}`); n != 1 {
		t.Errorf("the document lies there %d times", n)
	}
}

func TestCollectBesideOthers(t *testing.T) {
	dir := t.TempDir()
	old := past{n: 2, days: 40, end: dag.Rejected, size: 10}
	writePasts(t, dir, []past{old})
	run := open(t, dir, Options{RunID: "20260131T000000Z-abcdef"})
	_, err := Open(dir, Options{ReadOnly: true, Alone: true})
	var known *dag.Error
	if !errors.As(err, &known) || known.Kind != dag.KindInfrastructure || !strings.Contains(err.Error(), "run 20260131T000000Z-abcdef has it open") {
		t.Fatalf("beside a living run: %v", err)
	}
	o := bounds()
	o.MaxAge = time.Hour
	if told := survey(t, dir, o); told.Empty() {
		t.Error("beside a run nobody can ask what would go")
	}
	if got := old.there(t, run); got != whole {
		t.Errorf("the run finds: %s", got)
	}

	// One that waits begins when the run ends; a run that comes then waits for it.
	waits := make(chan string, 16)
	gone := make(chan error, 1)
	go func() {
		s, err := Open(dir, Options{ReadOnly: true, Alone: true, Wait: true, Log: func(m string) { waits <- m }})
		if err == nil {
			_, err = s.Collect(o)
			err = errors.Join(err, s.Close())
		}
		gone <- err
	}()
	if m := <-waits; !strings.Contains(m, "waiting for run 20260131T000000Z-abcdef") {
		t.Errorf("it says %q", m)
	}
	check(t, run.Close())
	check(t, <-gone)
	alone := open(t, dir, Options{ReadOnly: true, Alone: true})
	opened := make(chan error, 1)
	go func() {
		s, err := Open(dir, Options{RunID: "r", Log: func(m string) { waits <- m }})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	if m := <-waits; !strings.Contains(m, "waiting for `penstock gc`") {
		t.Errorf("it says %q", m)
	}
	check(t, alone.Close())
	check(t, <-opened)
	if got := old.there(t, open(t, dir, Options{})); got != nothing {
		t.Errorf("there is still: %s", got)
	}
}

// killedPasts are the items of the store that a collection is killed in.
var killedPasts = []past{
	{n: 1, days: 40, end: dag.Rejected, size: 100}, {n: 2, days: 2, end: dag.Rejected, size: 100}, {n: 3, days: 400, end: dag.Accepted, size: 90 << 10},
	{n: 4, days: 40, end: dag.Rejected, size: 90 << 10}, {n: 5, days: 400, end: dag.Parked, size: 100}, {n: 3, pass: 1, days: 300, end: dag.Accepted, size: 20},
}

func killedBounds() Collection {
	o := bounds()
	o.MaxAge = 30 * 24 * time.Hour
	return o
}

// collectAndDie kills this very process before the step whose number the run's
// name is.
func collectAndDie(dir, run string) error {
	s, err := Open(dir, Options{ReadOnly: true, Alone: true})
	if err != nil {
		return err
	}
	o := killedBounds()
	n := 0
	o.step = func(what string) {
		if fmt.Sprint(n) == run {
			fmt.Println(what)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		n++
	}
	if _, err := s.Collect(o); err != nil {
		return err
	}
	fmt.Println("done")
	return s.Close()
}

// kill -9 before every change on disk: what was to stay is there, and the next
// collection comes to the same end.
func TestCollectKilled(t *testing.T) {
	whatFor := func(dir string) []string {
		var left []string
		s := open(t, dir, Options{ReadOnly: true})
		for _, p := range killedPasts {
			left = append(left, p.there(t, s))
		}
		check(t, s.Close())
		return left
	}
	want := []string{nothing, whole, "artifact 0", nothing, whole, whole}
	var steps []string
	for n := 0; ; n++ {
		dir := t.TempDir()
		writePasts(t, dir, killedPasts)
		c := start(t, "collect", dir, fmt.Sprint(n))
		step := c.line()
		_ = c.cmd.Wait()
		if step == "done" {
			break
		}
		steps = append(steps, strings.ReplaceAll(step, dir+"/", ""))
		for i, left := range whatFor(dir) {
			if want[i] == whole && left != whole {
				t.Errorf("killed before %q, of item %d there is: %s", step, killedPasts[i].n, left)
			}
		}
		collect(t, dir, killedBounds())
		if diff := cmp.Diff(want, whatFor(dir)); diff != "" {
			t.Errorf("killed before %q, collected again (-want +got):\n%s", step, diff)
		}
		for name := range files(t, dir) {
			if strings.HasSuffix(name, gcSuffix) {
				t.Errorf("killed before %q: %s stays", step, name)
			}
		}
		wantWholeLines(t, dir)
	}
	if len(steps) < 8 || !slices.Contains(steps, "rename trails.log") || !slices.Contains(steps, "remove artifacts/000001.jsonl") {
		t.Errorf("it was killed before these steps only: %q", steps)
	}
}

// Whatever lies there and whatever the bounds: what is told is done, what is
// left is within the bound or has to stay, answers are right or not there.
func TestCollectProperty(t *testing.T) {
	useMemory(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "gc-")
		check(t, err)
		defer func() { _ = os.RemoveAll(dir) }()
		ends := []dag.End{dag.Rejected, dag.Accepted, dag.Parked, dag.Failed}
		var pasts []past
		for i := range rapid.IntRange(1, 20).Draw(rt, "items") {
			pasts = append(pasts, past{
				n: rapid.IntRange(1, 8).Draw(rt, "n"), pass: i, days: rapid.IntRange(0, 60).Draw(rt, "days"),
				end: rapid.SampledFrom(ends).Draw(rt, "end"), size: rapid.SampledFrom([]int{0, 10, 1000, 66 << 10}).Draw(rt, "size"),
			})
		}
		for from := 0; from < len(pasts); { // several segments
			to := rapid.IntRange(from+1, len(pasts)).Draw(rt, "to")
			writePasts(t, dir, pasts[from:to])
			from = to
		}
		o := bounds()
		o.MaxAge = time.Duration(rapid.IntRange(0, 70).Draw(rt, "age")) * 24 * time.Hour
		o.MaxBytes = rapid.Int64Range(0, bytesOf(t, dir)).Draw(rt, "bytes")
		o.KeepRuns = rapid.IntRange(0, 2).Draw(rt, "runs")
		told := survey(t, dir, o)
		if diff := cmp.Diff(told, collect(t, dir, o)); diff != "" {
			rt.Fatalf("what was told is not what was done: %s", diff)
		}
		n := bytesOf(t, dir)
		if n != told.After {
			rt.Fatalf("%d bytes are left, told were %d", n, told.After)
		}
		if o.MaxBytes > 0 && n > max(o.MaxBytes, told.Roots) || told.Over != (o.MaxBytes > 0 && n > o.MaxBytes) {
			rt.Fatalf("%d bytes are left of at most %d, with %d of roots; over: %v", n, o.MaxBytes, told.Roots, told.Over)
		}
		s := open(t, dir, Options{ReadOnly: true})
		latest, accepted := map[int]past{}, map[int]past{}
		for _, p := range pasts {
			latest[p.n] = p
			if p.end == dag.Accepted {
				accepted[p.n] = p
			}
			p.there(t, s) // is right where it is there
		}
		for _, p := range accepted {
			if got := p.there(t, s); got != whole {
				rt.Fatalf("of the accepted item %d there is: %s", p.n, got)
			}
		}
		for _, p := range latest {
			if got := p.there(t, s); p.end == dag.Parked && got != whole {
				rt.Fatalf("of the parked item %d there is: %s", p.n, got)
			}
		}
		check(t, s.Close())
		if again := collect(t, dir, o); !again.Empty() {
			rt.Fatalf("a second collection finds more: %+v", again)
		}
	})
}
