package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// Options of a Host. Dir and Self are required.
type Options struct {
	Dir     string // the pipeline's directory
	RunID   string
	Version string // of Penstock, for plugins to know

	// Self is the command that serves a bundled plugin when its name is added:
	// this binary, "plugin", "serve".
	Self []string
	// Offline gives no process the network, whatever its plugin block says.
	Offline bool
	// Bundled describes a bundled plugin by name, without a start.
	Bundled func(name string) (*dag.PluginInfo, bool)
	// Lock refuses to start what is not what it locks; nil: nothing is locked.
	Lock *dag.Lock
	// Memo remembers digests of files from run to run; nil: only in this one.
	Memo Memo

	// Log hears what plugins print and what the host has to say of them; level
	// is "debug", "info", "warn" or "error". It must not block for long.
	Log func(plugin, level, message string)
	// Said hears the same of what plugins themselves say, with the visit that it is
	// said of: what the SDK logs belongs to one, what a process writes to its standard
	// error to none. It is called by several goroutines; nil: nobody listens.
	Said func(Said)
	// Complete answers a completion that a visit asks for. The context ends with
	// the visit. It is called in a goroutine of its own.
	Complete func(context.Context, *dag.Stage, *proto.CompletionRequest) *proto.CompletionReply
	// Deliver takes results in batches, from several goroutines at once and
	// never from inside Submit. While it blocks, so does the plugin's stream, and
	// so does Close.
	Deliver func([]Result)

	StartTimeout time.Duration // until the handshake; 0: 10 s
	Grace        time.Duration // between asking a plugin to stop and killing it; 0: 2 s
}

// Said is a line that a plugin said.
type Said struct {
	Plugin  string
	Task    *Task // nil: the process said it, of no visit that is known
	Level   string
	Message string
}

// Task is one visit to be run.
type Task struct {
	Visit   uint64 // never used before: a plugin may still be at work on a visit that was withdrawn
	Stage   *dag.Stage
	Key     string // the item's
	Pass    int
	Sample  int
	Action  dag.Digest    // of the visit, for who hears what it says
	Attempt int           // executions of it, from 1; likewise
	Input   []byte        // canonical JSON; shared, never written to
	Timeout time.Duration // from when the plugin gets it; 0: none
	// Alone runs the visit with no other in its process: after a crash, that tells
	// whose visit it was that crashed it.
	Alone bool
	// Anew is for who answers its completions: see Anew of a context.
	Anew bool
}

// Result ends a Task: with Failure, with Err, or else with Word and Output.
type Result struct {
	Visit       uint64
	Word        string // the outcome as the plugin said it; empty: none said
	Output      []byte // JSON as the plugin wrote it, not yet checked
	Failure     *dag.Failure
	Findings    []dag.PluginFinding
	Notes       []string
	Err         *dag.Error    // infrastructure
	RetryAfter  time.Duration // with Err: not before that
	Crashed     bool          // with Err: the process died under this visit
	Shared      bool          // with Err: the process was of no more use to any of its visits; alone, another may serve this one
	Facts       dag.Facts
	Completions []dag.Completion // what is kept of the answers that it was given, as Answered told
}

// Host runs the plugins of one pipeline.
type Host struct {
	opts    Options
	digests *digests
	ctx     context.Context // ends with Close
	end     context.CancelFunc
	warn    sync.Once // of a kernel that confines less than wanted
	secrets secrets

	mu     sync.Mutex
	pools  map[poolKey]*pool
	run    *runFolder // nil until the first process
	closed bool
}

// A plugin that serves stages and providers has processes of either kind: only
// a provider's may use the network without being told so.
type poolKey struct {
	plugin   *dag.Plugin
	provider bool
}

// pool is the processes of one plugin.
type pool struct{ slots []*slot }

// New makes a Host. It starts nothing.
func New(opts Options) *Host {
	if opts.Log == nil {
		opts.Log = func(string, string, string) {}
	}
	if opts.Said == nil {
		opts.Said = func(Said) {}
	}
	if opts.Deliver == nil {
		opts.Deliver = func([]Result) {}
	}
	if opts.StartTimeout == 0 {
		opts.StartTimeout = 10 * time.Second
	}
	if opts.Grace == 0 {
		opts.Grace = 2 * time.Second
	}
	if abs, err := filepath.Abs(opts.Dir); err == nil {
		opts.Dir = abs
	}
	ctx, end := context.WithCancel(context.Background())
	return &Host{opts: opts, digests: newDigests(opts.Memo), ctx: ctx, end: end, pools: make(map[poolKey]*pool)}
}

// Submit runs a task. It never blocks; the plugin is started where it is not
// running. The task ends in exactly one Result, whatever happens.
func (h *Host) Submit(t Task) {
	p, err := h.pool(t.Stage.Plugin, false)
	if err != nil {
		h.deliverSoon(Result{Visit: t.Visit, Err: err})
		return
	}
	if len(t.Input) > maxDocument {
		h.deliverSoon(Result{Visit: t.Visit, Failure: dag.Fail(dag.EDocument,
			"the input of %s for stage %s has %d bytes, a plugin takes %d at most", t.Key, t.Stage.Name, len(t.Input), maxDocument)})
		return
	}
	t.Key = strings.ToValidUTF8(t.Key, "\uFFFD") // a message with other bytes would end the stream
	p.least().submit(&visit{task: t})
}

// Cancel ends a task that has no Result yet: its Result says context.Canceled.
// The plugin is told, and what it still answers is ignored.
func (h *Host) Cancel(visit uint64) {
	for _, s := range h.slots() {
		if s.cancel(visit) {
			return
		}
	}
}

// Describe gives what a plugin says of itself. A bundled plugin is not started
// for it; any other is, and its process stays for the visits to come.
func (h *Host) Describe(ctx context.Context, p *dag.Plugin) (*dag.PluginInfo, error) {
	if name, ok := bundledName(p); ok {
		return h.bundled(p, name)
	}
	pool, failure := h.pool(p, false)
	if failure != nil {
		return nil, failure
	}
	proc, failure := pool.slots[0].running(ctx)
	if failure != nil {
		return nil, failure
	}
	return proc.describe(ctx)
}

func (h *Host) bundled(p *dag.Plugin, name string) (*dag.PluginInfo, error) {
	if h.opts.Bundled != nil {
		if info, ok := h.opts.Bundled(name); ok {
			return info, nil
		}
	}
	return nil, &dag.Error{Op: "find plugin", Subject: p.Name, Kind: dag.KindConfig,
		Err: fmt.Errorf("no plugin %q is bundled with this version", p.Source)}
}

// Prepare configures a stage in a process of its plugin, so that its
// configuration is known to be right before the first item. The error is a
// *ConfigError where the plugin refuses it.
func (h *Host) Prepare(ctx context.Context, stage *dag.Stage) error {
	pool, failure := h.pool(stage.Plugin, false)
	if failure != nil {
		return failure
	}
	proc, failure := pool.slots[0].running(ctx)
	if failure != nil {
		return failure
	}
	if _, failure := proc.handle(ctx, stage); failure != nil {
		return failure
	}
	return nil
}

// Close stops every process: first kindly, after the grace by force, at once
// when the context ends. Tasks without a Result get one before it returns. The
// folders and sockets of the run are removed.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	run := h.run
	h.run = nil
	h.mu.Unlock()
	h.end()
	var all sync.WaitGroup
	for _, s := range h.slots() {
		all.Go(func() { s.close(ctx) })
	}
	all.Wait()
	if run == nil {
		return nil
	}
	return run.remove()
}

func (h *Host) pool(p *dag.Plugin, provider bool) (*pool, *dag.Error) {
	if p == nil {
		return nil, &dag.Error{Op: "find plugin", Kind: dag.KindBug, Err: errors.New("a stage without a plugin has no visits to run")}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, &dag.Error{Op: "start plugin", Subject: p.Name, Kind: dag.KindInterrupted, Err: errClosed}
	}
	key := poolKey{p, provider}
	if have := h.pools[key]; have != nil {
		return have, nil
	}
	made := &pool{}
	for range max(1, p.Processes) {
		made.slots = append(made.slots, newSlot(h, p, provider))
	}
	h.pools[key] = made
	return made, nil
}

var errClosed = errors.New("the plugin host is closed")

func (h *Host) slots() []*slot {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*slot
	for _, p := range h.pools {
		all = append(all, p.slots...)
	}
	return all
}

// least is the slot with the fewest tasks; the first of them, so that a process
// is started only where those that run have something to do.
func (p *pool) least() *slot {
	best := p.slots[0]
	for _, s := range p.slots[1:] {
		if best.load.Load() == 0 {
			break
		}
		if s.load.Load() < best.load.Load() {
			best = s
		}
	}
	return best
}

// deliverSoon delivers outside of Submit, whose caller may hold a lock that
// Deliver takes.
func (h *Host) deliverSoon(r ...Result) {
	go h.opts.Deliver(r)
}

// folder is the run's private folder, made when the first process needs it.
func (h *Host) folder() (*runFolder, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosed
	}
	if h.run == nil {
		run, err := makeRunFolder(tempCandidates())
		if err != nil {
			return nil, err
		}
		h.run = run
	}
	return h.run, nil
}

// tempCandidates are the folders to make the run's folder in, best first: the
// path of a socket is short by law, and temporary folders are not.
func tempCandidates() []string {
	if temp := os.TempDir(); temp != "/tmp" {
		return []string{temp, "/tmp"}
	}
	return []string{"/tmp"}
}
