package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	lineLimit  = 64 << 10 // longer lines are cut
	tailLines  = 20
	tailWidth  = 400 // bytes of a line that are kept
	panicLines = 8
)

// tail keeps the last lines of a process, and the head of a panic: the trace
// behind it is longer than the tail and would push it out.
type tail struct {
	mu    sync.Mutex
	lines []string
	panic []string
}

func (t *tail) add(line string) {
	if len(line) > tailWidth {
		line = line[:tailWidth] + "…"
	}
	line = printable(strings.ToValidUTF8(line, "\uFFFD"))
	t.mu.Lock()
	defer t.mu.Unlock()
	starts := strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	if (starts || len(t.panic) > 0) && len(t.panic) < panicLines {
		t.panic = append(t.panic, line)
	}
	if len(t.lines) == tailLines {
		copy(t.lines, t.lines[1:])
		t.lines = t.lines[:tailLines-1]
	}
	t.lines = append(t.lines, line)
}

// text is what to quote: the panic where there was one, else the last lines,
// indented.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.panic
	if len(lines) == 0 {
		lines = t.lines
	}
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("  " + line)
	}
	return b.String()
}

// printable replaces control characters but tab and line end.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' {
			return utf8.RuneError
		}
		return r
	}, s)
}

// readLines gives each line without its end, cut at lineLimit; whole says that
// its end was seen. It reads to the end whatever comes: a plugin must never
// block on a pipe that nobody reads.
func readLines(r io.Reader, each func(line []byte, whole bool)) {
	b := bufio.NewReaderSize(r, lineLimit)
	for {
		line, err := b.ReadSlice('\n')
		switch {
		case err == nil:
			each(bytes.TrimRight(line, "\r\n"), true)
		case errors.Is(err, bufio.ErrBufferFull):
			each(line, true)
			for errors.Is(err, bufio.ErrBufferFull) { // let the rest of it go
				_, err = b.ReadSlice('\n')
			}
			if err != nil {
				return
			}
		default:
			if len(line) > 0 {
				each(line, false)
			}
			return
		}
	}
}

// logLine is a line of stderr as docs/protocol.md gives it.
type logLine struct {
	Level   string `json:"level"`
	Message string `json:"message"`
}

// parseLog reads one line of a plugin's stderr. The SDK's logger writes JSON
// with level and message; hclog's names (@level, @message) and slog's (msg) are
// understood; whatever else is the message itself.
func parseLog(line []byte) (levelName, message string) {
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if len(line) > 1 && line[0] == '{' {
		var members map[string]jsontext.Value
		if json.Unmarshal(line, &members) == nil {
			if l, ok := fromJSON(members); ok {
				return l.Level, l.Message
			}
		}
		return "info", text
	}
	for prefix, name := range prefixes {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			return name, strings.TrimSpace(rest)
		}
	}
	if strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") {
		return "error", text
	}
	return "info", text
}

var prefixes = map[string]string{
	"[TRACE]": "debug", "[DEBUG]": "debug", "[INFO]": "info", "[WARN]": "warn", "[ERROR]": "error",
	"DEBUG:": "debug", "INFO:": "info", "WARNING:": "warn", "ERROR:": "error", "CRITICAL:": "error",
}

// fromJSON needs a level and a message that are texts: a plugin may print any
// JSON, and none of it may bring the host down.
func fromJSON(members map[string]jsontext.Value) (logLine, bool) {
	text := func(names ...string) (string, bool) {
		for _, name := range names {
			var s string
			if raw, ok := members[name]; ok && raw.Kind() == '"' && json.Unmarshal(raw, &s) == nil {
				delete(members, name)
				return s, true
			}
		}
		return "", false
	}
	message, ok := text("message", "@message", "msg")
	if !ok {
		return logLine{}, false
	}
	name, ok := text("level", "@level", "lvl", "severity")
	if !ok {
		return logLine{}, false
	}
	for _, stamp := range []string{"time", "@timestamp", "ts", "timestamp"} {
		delete(members, stamp)
	}
	if len(members) > 0 {
		if rest, err := json.Marshal(members, json.Deterministic(true)); err == nil {
			message += " " + string(rest)
		}
	}
	return logLine{Level: level(strings.ToLower(name)), Message: message}, true
}

// handshake is the line by which a plugin says where it listens.
type handshake struct{ core, version, network, address, protocol string }

// parseHandshake tells whether a line is one: two numbers, a network and an
// address between bars.
func parseHandshake(line string) (handshake, bool) {
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 4 || !digits(parts[0]) || !digits(parts[1]) {
		return handshake{}, false
	}
	h := handshake{core: parts[0], version: parts[1], network: parts[2], address: parts[3], protocol: "netrpc"}
	if len(parts) > 4 {
		h.protocol = parts[4]
	}
	return h, true
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// check refuses a handshake that we cannot go on from.
func (h handshake) check(scratch string) error {
	switch {
	case h.core != "1":
		return fmt.Errorf("it speaks version %s of go-plugin's handshake, this host speaks 1", h.core)
	case h.version != "1":
		return fmt.Errorf("it speaks version %s of the plugin protocol, this host speaks 1: build it against that version, or take a newer Penstock", h.version)
	case h.protocol != "grpc":
		return fmt.Errorf("it speaks %s, this host speaks grpc", h.protocol)
	case h.network != "unix":
		return fmt.Errorf("it listens on %s %s: serve on a unix socket in the folder that PLUGIN_UNIX_SOCKET_DIR names", h.network, h.address)
	case !strings.HasPrefix(h.address, scratch+"/"):
		return fmt.Errorf("it listens at %s: make the socket in the folder that PLUGIN_UNIX_SOCKET_DIR names (%s)", h.address, scratch)
	case len(h.address) > maxSocketPath:
		return fmt.Errorf("its socket's path has %d bytes, the system takes %d: give the socket a shorter name", len(h.address), maxSocketPath)
	}
	return nil
}
