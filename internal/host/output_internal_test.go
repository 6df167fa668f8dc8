package host

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseLog(t *testing.T) {
	for _, test := range []struct{ line, level, message string }{
		{`{"time":"2026","level":"warn","message":"m"}`, "warn", "m"},
		{`{"level":"info","message":"m","b":1,"a":"x"}`, "info", `m {"a":"x","b":1}`},
		{`{"@level":"trace","@message":"m","@timestamp":"t"}`, "debug", "m"},
		{`{"level":"WARN","msg":"slog","time":"t"}`, "warn", "slog"},
		{`{"level":"odd","message":"m"}`, "info", "m"},
		{`{"level":"error","message":5}`, "info", `{"level":"error","message":5}`},
		{`{"level":7,"message":"m"}`, "info", `{"level":7,"message":"m"}`},
		{`{"a":1,"a":2}`, "info", `{"a":1,"a":2}`},
		{`{"unended`, "info", `{"unended`},
		{`{`, "info", `{`},
		{`[WARN] careful`, "warn", "careful"},
		{`ERROR: bad`, "error", "bad"},
		{`panic: oh`, "error", "panic: oh"},
		{`plain`, "info", "plain"},
		{"\xff", "info", "\uFFFD"},
	} {
		level, message := parseLog([]byte(test.line))
		if level != test.level || message != test.message {
			t.Errorf("%s: %s %q, want %s %q", test.line, level, message, test.level, test.message)
		}
	}
}

func FuzzParseLog(f *testing.F) {
	f.Add([]byte(`{"level":"info","message":"m","x":[{}]}`))
	f.Add([]byte("[WARN]\xff"))
	f.Fuzz(func(t *testing.T, line []byte) {
		name, message := parseLog(line)
		if level(name) != name || !utf8.ValidString(message) {
			t.Errorf("%q: %q %q", line, name, message)
		}
	})
}

func TestReadLines(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	var got []string
	readLines(strings.NewReader("one\r\n\n"+long+"\ntwo\n"+long), func(line []byte, whole bool) {
		text := string(line)
		if len(text) > 10 {
			text = fmt.Sprintf("%d×%c", len(text), text[0])
		}
		got = append(got, fmt.Sprintf("%s %v", text, whole))
	})
	want := []string{"one true", " true", "65536×x true", "two true", "65536×x true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	readLines(strings.NewReader("whole\nhalf"), func(line []byte, whole bool) { got = append(got, fmt.Sprintf("%s %v", line, whole)) })
	if diff := cmp.Diff([]string{"whole true", "half false"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTail(t *testing.T) {
	var last tail
	for i := range 30 {
		last.add(fmt.Sprint("line ", i))
	}
	lines := strings.Split(last.text(), "\n")
	if len(lines) != tailLines || lines[0] != "  line 10" || lines[tailLines-1] != "  line 29" {
		t.Errorf("%q", lines)
	}
	last.add("panic: oh")
	for i := range 100 {
		last.add(fmt.Sprint("goroutine ", i))
	}
	lines = strings.Split(last.text(), "\n")
	if len(lines) != panicLines || lines[0] != "  panic: oh" || lines[1] != "  goroutine 0" {
		t.Errorf("%q", lines)
	}
	if got := printable("\x1b[2Ja\tb\nc\u0085d"); got != "\uFFFD[2Ja\tb\nc\uFFFDd" {
		t.Errorf("%q", got)
	}
	var wide tail
	wide.add(strings.Repeat("é", tailWidth))
	if got := wide.text(); !utf8.ValidString(got) || len(got) > tailWidth+10 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestParseHandshake(t *testing.T) {
	for _, test := range []struct {
		line string
		want handshake
		ok   bool
	}{
		{"1|1|unix|/s/p|grpc", handshake{"1", "1", "unix", "/s/p", "grpc"}, true},
		{" 1|12|tcp|127.0.0.1:1|grpc||true ", handshake{"1", "12", "tcp", "127.0.0.1:1", "grpc"}, true},
		{"1|1|unix|/s/p", handshake{"1", "1", "unix", "/s/p", "netrpc"}, true},
		{"loading|1|2|3", handshake{}, false},
		{"1|1|unix", handshake{}, false},
		{"", handshake{}, false},
	} {
		got, ok := parseHandshake(test.line)
		if got != test.want || ok != test.ok {
			t.Errorf("%q: %+v, %v", test.line, got, ok)
		}
	}
	long := handshake{"1", "1", "unix", "/s/" + strings.Repeat("x", 200), "grpc"}
	if err := long.check("/s"); err == nil || !strings.HasPrefix(err.Error(), "its socket's path has 203 bytes, the system takes ") {
		t.Error(err)
	}
}
