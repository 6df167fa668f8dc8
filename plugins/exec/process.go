package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	osexec "os/exec"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/penstock-run/penstock/plugins/sdk"
)

const (
	// maxOutput is what one message of the plugin protocol can carry.
	maxOutput = 64 << 20
	// maxTail of stderr is kept: enough for the line that tells why.
	maxTail = 16 << 10
	// grace is how long a command that was told to end may take, and how long
	// what it left behind may hold its pipes.
	grace = 500 * time.Millisecond
)

// ending is how a command ended by itself.
type ending struct {
	status int
	signal string // that killed it; empty: it exited
	stdout []byte
	stderr string // the last line
}

func (e *ending) describe() string {
	s := fmt.Sprintf("the command ended with status %d, which `exits` does not list", e.status)
	if e.signal != "" {
		s = "the command was killed by signal: " + e.signal
	}
	if e.stderr != "" {
		s += ": " + e.stderr
	}
	return s
}

// start runs the command to its end. The error is a failure of the visit: the
// deadline, a cancellation, a command that does not start or prints too much.
func start(ctx context.Context, r *runner, input []byte, say func(lines string)) (*ending, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stdout := &limited{most: maxOutput, full: func() { cancel(errTooMuch) }}
	stderr := &tail{say: say}
	cmd := osexec.CommandContext(ctx, r.program, r.args...)
	cmd.Dir = r.directory
	cmd.Stdin = bytes.NewReader(input)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = groupOfItsOwn()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	if err := ctx.Err(); err != nil {
		return nil, stopped(err)
	}
	end, err := r.groups.start(cmd)
	if err != nil {
		return nil, sdk.Infra("E_UNAVAILABLE", "the command does not start: %v", err)
	}
	err = cmd.Wait()
	stderr.end()
	end() // what the command left running in its group ends with it
	switch {
	case errors.Is(context.Cause(ctx), errTooMuch):
		return nil, sdk.Fail("E_DOCUMENT_SIZE", "the command printed more than %d MiB on stdout", maxOutput>>20)
	case ctx.Err() != nil:
		return nil, stopped(ctx.Err())
	}
	ended := &ending{stdout: stdout.kept.Bytes(), stderr: stderr.lastLine()}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		ended.signal = status.Signal().String()
	case ok && status.Exited():
		ended.status = status.ExitStatus()
	default:
		return nil, sdk.Infra("E_UNAVAILABLE", "the command's end cannot be told: %v", err)
	}
	return ended, nil
}

var errTooMuch = errors.New("too much output")

func stopped(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return sdk.Infra("E_TIMEOUT", "the command did not end before the deadline and was killed")
	}
	return sdk.Infra("E_UNAVAILABLE", "the visit was cancelled and its command killed")
}

// limited keeps so many bytes; the first one too many stops the command.
type limited struct {
	kept bytes.Buffer // not embedded: its ReadFrom would go round the limit
	most int
	full func()
}

func (l *limited) Write(p []byte) (int, error) {
	if l.kept.Len()+len(p) > l.most {
		l.full()
		return 0, errTooMuch
	}
	return l.kept.Write(p)
}

// tail keeps the last bytes of a stream, and passes on what it reads, up to a bound.
type tail struct {
	kept  []byte
	say   func(lines string)
	lines []byte // not passed on yet
	said  int    // bytes that were
}

// mostSaid is how much of what a command says is passed on: more than the host keeps
// of a visit.
const mostSaid = 1<<20 + 64<<10

// longestLine is how much of a line waits for its end.
const longestLine = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	if t.said < mostSaid {
		t.lines = append(t.lines, p...)
		if end := bytes.LastIndexByte(t.lines, '\n'); end >= 0 || len(t.lines) > longestLine {
			if end < 0 {
				end = len(t.lines) - 1
			}
			t.pass(t.lines[:end+1])
			t.lines = append(t.lines[:0], t.lines[end+1:]...)
		}
	}
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*maxTail {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-maxTail:]...)
	}
	return len(p), nil
}

// pass passes on some lines as one text: a command may say much in a short time.
func (t *tail) pass(lines []byte) {
	if text := strings.Trim(string(lines), "\r\n"); text != "" {
		t.say(strings.ToValidUTF8(text, "\uFFFD"))
		t.said += len(lines)
	}
}

// end passes on what is left.
func (t *tail) end() { t.pass(t.lines) }

// lastLine is the last line that says anything, fit to stand in a message.
func (t *tail) lastLine() string {
	const most = 300
	text := strings.ToValidUTF8(string(t.kept), "\uFFFD")
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) { // colours and bells are for a terminal
				return ' '
			}
			return r
		}, lines[i]))
		if runes := []rune(line); len(runes) > most {
			return string(runes[:most]) + "…"
		}
		if line != "" {
			return line
		}
	}
	return ""
}
