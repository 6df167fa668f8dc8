package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// run is one process, as go-plugin's Runner. It exists because go-plugin's own
// gives the whole environment away, leaves grandchildren, waits for whoever
// holds stderr, parses stderr in a way that a plugin can crash the host by, stops
// reading stdout at a long line, and has nothing to say about a failed start.
type run struct {
	host    *Host
	slot    *slot
	target  *target
	env     []string // the handshake's; set before the start, as is scratch
	scratch string
	tail    tail

	pid   atomic.Int64
	done  chan struct{} // closed when the process is dead and its output read
	state *os.ProcessState
	stdin *os.File // our end; the process sees EOF when we are gone
	hello *io.PipeReader
	spoke *io.PipeWriter

	once sync.Once // of closing stdin
	mu   sync.Mutex
	shut bool // killed; or must not start any more
	// What was seen of the handshake, for explain.
	shaken  bool
	refused error
	partial string // an unfinished last line of stdout
}

func newRun(h *Host, s *slot, t *target) *run {
	r := &run{host: h, slot: s, target: t, done: make(chan struct{})}
	r.hello, r.spoke = io.Pipe()
	return r
}

// Start starts the process.
func (r *run) Start(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut {
		return errClosed
	}
	network := !r.host.opts.Offline && (r.slot.provider || r.slot.plugin.Network)
	cmd := confined(r.target, r.scratch, network)
	cmd.Env = r.environment()
	if cmd.Dir = r.target.folder; cmd.Dir == "" {
		cmd.Dir = r.scratch
	}
	pipes, err := r.connect(cmd)
	if err != nil {
		return err
	}
	cmd.SysProcAttr = ownGroup(r.target.bundled)
	started := make(chan error, 1)
	go r.keep(cmd, pipes, started)
	return <-started
}

// environment is all that the process sees: no variable of ours that it was not
// promised.
func (r *run) environment() []string {
	env := []string{"TMPDIR=" + r.scratch, "LANG=C.UTF-8"}
	for _, name := range append([]string{"PATH"}, r.target.env...) {
		if value, ok := os.LookupEnv(name); ok && name != "TMPDIR" {
			env = append(env, name+"="+value)
		}
	}
	return append(env, r.env...)
}

// pipes are our ends of the process's output, and its ends of all three.
type pipes struct {
	stdout, stderr *os.File
	theirs         []*os.File
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		_ = f.Close()
	}
}

func (r *run) connect(cmd *exec.Cmd) (*pipes, error) {
	var all []*os.File
	pipe := func() (read, write *os.File, err error) {
		read, write, err = os.Pipe()
		if err == nil {
			all = append(all, read, write)
		}
		return read, write, err
	}
	in, inWrite, err1 := pipe()
	out, outWrite, err2 := pipe()
	errRead, errWrite, err3 := pipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		for _, f := range all {
			_ = f.Close()
		}
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, outWrite, errWrite
	r.stdin = inWrite
	return &pipes{stdout: out, stderr: errRead, theirs: []*os.File{in, outWrite, errWrite}}, nil
}

// keep starts the process and stays with it to its end, on a thread of its own:
// the signal that ends a child with its parent is tied to the thread that forked
// it, and Go's runtime ends idle threads.
func (r *run) keep(cmd *exec.Cmd, p *pipes, started chan<- error) {
	lockThread()
	defer unlockThread()
	err := cmd.Start()
	p.closeTheirs()
	if err != nil {
		_ = p.stdout.Close()
		_ = p.stderr.Close()
		r.closeStdin()
		close(r.done)
		started <- err
		return
	}
	r.pid.Store(int64(cmd.Process.Pid))
	var readers sync.WaitGroup
	readers.Go(func() { readLines(p.stderr, r.stderrLine) })
	readers.Go(func() { readLines(p.stdout, r.stdoutLine) })
	started <- nil

	waitDead(cmd.Process.Pid)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it started goes with it
	_ = cmd.Wait()
	r.state = cmd.ProcessState
	// Whoever left the group may hold the pipes for ever. What was written is
	// there to be read at once; nobody is waited for.
	limit := time.Now().Add(200 * time.Millisecond)
	_ = p.stdout.SetReadDeadline(limit)
	_ = p.stderr.SetReadDeadline(limit)
	readers.Wait()
	_ = p.stdout.Close()
	_ = p.stderr.Close()
	_ = r.spoke.Close()
	r.closeStdin()
	close(r.done)
}

func (r *run) stderrLine(line []byte, _ bool) {
	if len(line) == 0 {
		return
	}
	level, message := parseLog(line)
	r.tail.add(r.host.secrets.redact(message))
	r.slot.log(level, message)
	r.host.opts.Said(Said{Plugin: r.slot.plugin.Name, Level: level, Message: printable(message)})
}

// stdoutLine looks for the handshake and passes it on; all else that is printed
// there is noise, which is logged and never reaches go-plugin.
func (r *run) stdoutLine(line []byte, whole bool) {
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	r.mu.Lock()
	seeking := !r.shaken
	if seeking && !whole {
		r.partial = text
	}
	shake, ok := handshake{}, false
	if seeking && whole {
		if shake, ok = parseHandshake(text); ok {
			r.shaken = true
			r.refused = shake.check(r.scratch)
		}
	}
	refused := r.refused
	r.mu.Unlock()
	switch {
	case ok && refused == nil:
		_, _ = r.spoke.Write([]byte(text + "\n"))
		_ = r.spoke.Close()
	case ok:
		_ = r.spoke.Close()
	default:
		if len(text) > tailWidth {
			text = text[:tailWidth] + "…"
		}
		r.tail.add(r.host.secrets.redact("stdout: " + text))
		r.slot.log("warn", "printed to stdout, which belongs to the handshake: "+text)
	}
}

// explain says what a failed start looked like from here; nil where go-plugin
// knows better.
func (r *run) explain(limit time.Duration, cause error) error {
	r.mu.Lock()
	refused, shaken := r.refused, r.shaken
	r.mu.Unlock()
	if refused != nil {
		return refused
	}
	if r.pid.Load() == 0 || shaken {
		return nil
	}
	// On a timeout go-plugin has killed it, so that it is dead says nothing.
	if !strings.Contains(cause.Error(), "timeout") {
		// Its stdout ended: it is dead, or about to be.
		select {
		case <-r.done:
			return fmt.Errorf("it ended before its handshake (%s)", r.status())
		case <-time.After(processDeath):
			return errors.New("it closed its stdout before its handshake")
		}
	}
	r.killIfStarted()
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := parseHandshake(r.partial); ok {
		return fmt.Errorf("it wrote its handshake without a line end (%q) and then nothing for %s", r.partial, limit)
	}
	return fmt.Errorf("it did not write its handshake to stdout within %s (is the line flushed?)", limit)
}

// status is how the process ended, in words.
func (r *run) status() string {
	if r.state == nil {
		return "never started"
	}
	return r.state.String()
}

// Wait waits for the end of the process.
func (r *run) Wait(context.Context) error {
	<-r.done
	if r.state != nil && !r.state.Success() {
		return errors.New(r.state.String())
	}
	return nil
}

// Kill ends the process and all of its group.
func (r *run) Kill(context.Context) error {
	r.killIfStarted()
	return nil
}

// killIfStarted ends the group, and sees to it that a process that has not been
// started never is. The leader is not reaped before its group was killed, so the
// number cannot be anybody else's.
func (r *run) killIfStarted() {
	r.mu.Lock()
	r.shut = true
	r.mu.Unlock()
	pid := int(r.pid.Load())
	if pid == 0 {
		return
	}
	select {
	case <-r.done:
		return
	default:
	}
	end := func() {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have left its group
	}
	if !r.target.bundled {
		end()
		return
	}
	// Our own program heeds the word, and ends what it started in other groups.
	_ = syscall.Kill(pid, syscall.SIGTERM)
	go func() {
		select {
		case <-r.done:
		case <-time.After(heed):
			end()
		}
	}()
}

// heed is how long a bundled plugin may take to end when it is told to.
const heed = 500 * time.Millisecond

func (r *run) closeStdin() {
	r.once.Do(func() {
		if r.stdin != nil {
			_ = r.stdin.Close()
		}
	})
}

// cleanUp removes what the process leaves on the disk.
func (r *run) cleanUp() {
	if r.scratch != "" {
		_ = os.RemoveAll(r.scratch)
	}
}

// Stdout carries the handshake and nothing else.
func (r *run) Stdout() io.ReadCloser { return r.hello }

// Stderr is empty: go-plugin's parser does not get to see what plugins print.
func (r *run) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is for go-plugin's log, which nobody reads.
func (r *run) Name() string { return r.slot.plugin.Name }

// ID is the process's number.
func (r *run) ID() string {
	if pid := r.pid.Load(); pid != 0 {
		return strconv.FormatInt(pid, 10)
	}
	return ""
}

// Diagnose has nothing to add: failedStart says all.
func (r *run) Diagnose(context.Context) string { return "" }

// PluginToHost passes an address that the handshake's check has seen.
func (r *run) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin passes an address as it is.
func (r *run) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
