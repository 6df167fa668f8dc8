package completion

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/dag"
)

// TestMain lets the test binary be one of several processes that record.
func TestMain(m *testing.M) {
	if path := os.Getenv("RECORD_INTO"); path != "" {
		os.Exit(recordInto(path, os.Getenv("RECORD_AS"), os.Getenv("RECORD_ROOM")))
	}
	os.Exit(m.Run())
}

// recordInto records a hundred answers, or answers without end where it is named
// "endless", and prints each that is recorded. room is how long a file may become, in
// bytes; empty: as long as it likes.
func recordInto(path, name, room string) int {
	if room != "" {
		size, err := strconv.ParseUint(room, 10, 64)
		if err == nil {
			err = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: size})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	s, err := New(Options{Record: path, Log: func(_, message string) { fmt.Println("told: " + message) }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for n := 0; n < 100 || name == "endless"; n++ {
		text := fmt.Sprintf("%s %d", name, n)
		if e := s.Complete(context.Background(), writer, answers(strings.Repeat("long ", 200)+text), userSays(text)).GetError(); e != nil {
			fmt.Fprintln(os.Stderr, e)
			return 1
		}
		fmt.Println(text)
	}
	if err := s.Close(); err != nil {
		fmt.Println("closed: " + err.Error())
		return 2
	}
	return 0
}

func recorderProcess(t *testing.T, path, name, room string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "RECORD_INTO="+path, "RECORD_AS="+name, "RECORD_ROOM="+room)
	cmd.Stderr = os.Stderr
	return cmd
}

// Four processes record into one file at once; one of them is killed over and over.
// Every answer that any of them had recorded is in the file, which has no torn line.
func TestRecordersAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	var whole []*exec.Cmd
	for _, name := range []string{"a", "b", "c"} {
		cmd := recorderProcess(t, path, name, "")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		whole = append(whole, cmd)
	}
	recorded := map[string]bool{}
	for round := range 3 {
		cmd := recorderProcess(t, path, "endless", "")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewScanner(out)
		for n := 0; n < 20*(round+1) && in.Scan(); n++ {
			if !strings.HasPrefix(in.Text(), "told: ") {
				recorded[in.Text()] = true
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for in.Scan() {
			if !strings.HasPrefix(in.Text(), "told: ") {
				recorded[in.Text()] = true
			}
		}
		_ = cmd.Wait() // killed
	}
	for i, cmd := range whole {
		if err := cmd.Wait(); err != nil {
			t.Errorf("recorder %d: %v", i, err)
		}
		for n := range 100 {
			recorded[fmt.Sprintf("%c %d", 'a'+i, n)] = true
		}
	}
	c, err := ReadCassette(path)
	if err != nil {
		t.Fatal(err)
	}
	for text := range recorded {
		if e, ok := c.Lookup(mustKey(t, userSays(text))); !ok || !strings.HasSuffix(e.Reply.Text, text) {
			t.Errorf("what was recorded of %q is not in the file", text)
		}
	}
	if names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); err != nil || len(names) != 1 {
		t.Errorf("the folder holds %q, %v", names, err)
	}
}

// A file that may not grow takes what goes in, whole; the rest is told, and the end of
// the run says that the cassette is not whole.
func TestNoRoomForACassette(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	out, err := recorderProcess(t, path, "full", "10000").Output()
	if code := err.(*exec.ExitError).ExitCode(); code != 2 {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	said := strings.ReplaceAll(string(out), path, "C")
	for _, want := range []string{
		"told: the cassette C cannot be written to: write C: file too large; what is missing is written when the run ends, if it can be then\n",
		"closed: write cassette C: file too large\n",
	} {
		if strings.Count(said, want) != 1 {
			t.Errorf("it does not say once %q:\n%s", want, said)
		}
	}
	c, err := ReadCassette(path)
	if err != nil || c.torn != 0 || c.Len() < 5 || c.Len() > 9 {
		t.Errorf("the file holds %d answers of 1,000 bytes, line %d torn, %v", c.Len(), c.torn, err)
	}
	if names, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || len(names) != 0 {
		t.Errorf("there is left %q, %v", names, err)
	}
}

// A tape whose path names no file that can be opened says so each time, and goes on
// once it does.
func TestATapeThatCannotBeReopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	tape, err := openTape(path)
	if err != nil {
		t.Fatal(err)
	}
	defer tape.close()
	write := func(line string) error { return tape.held(func() error { return tape.append([]byte(line + "\n")) }) }
	if err := write("1"); err != nil {
		t.Fatal(err)
	}
	if err := cmp.Or(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := write("2"); !errors.Is(err, syscall.EISDIR) {
			t.Errorf("got %v, want what keeps the file from being opened", err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := write("3"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "3\n" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

// Wherever a recorder was killed within its last line, what stands before it is read,
// and the next recorder begins a new line.
func TestATornLastLine(t *testing.T) {
	dir := t.TempDir()
	line := func(text string) string {
		e := Entry{Request: Request{Messages: []Message{{Role: "user", Text: text}}}, Reply: Reply{Text: "ä„\\\" 12", FinishReason: "stop", Usage: &Usage{Input: 12}}}
		b, err := e.Line()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	last := line("last ä")
	for cut := 1; cut < len(last)-1; cut++ {
		path := filepath.Join(dir, strconv.Itoa(cut))
		if err := os.WriteFile(path, []byte(line("first")+last[:cut]), 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := ReadCassette(path)
		if err != nil || c.Len() != 1 || c.torn != 2 {
			t.Fatalf("torn at byte %d: %v, %d answers, torn line %d", cut, err, c.Len(), c.torn)
		}
		digest, err := Digest(path)
		if want := dag.Sum([]byte(line("first"))); err != nil || digest != want {
			t.Fatalf("torn at byte %d: the digest covers what does not count (%v)", cut, err)
		}
		r, err := newRecorder(path)
		if err != nil || !r.mended {
			t.Fatalf("torn at byte %d: %v", cut, err)
		}
		if err := r.tape.append([]byte(line("next"))); err != nil {
			t.Fatal(err)
		}
		if err := r.tape.close(); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != line("first")+line("next") {
			t.Fatalf("torn at byte %d: the file is %q, %v", cut, b, err)
		}
	}
}

func TestATornLineIsTold(t *testing.T) {
	path := write(t, "c.jsonl", `{"request":{"messages":[{"role":"user","text":"old"}]},"reply":{"text":"x","finish_reason":"stop"}}`+"\n"+`{"request":{"mess`)
	var told []string
	log := func(_, message string) { told = append(told, strings.ReplaceAll(message, path, "C")) }
	s, _ := newService(t, Options{Replay: path, Log: log})
	if got := s.Complete(context.Background(), writer, nil, userSays("old")); got.GetText() != "x" {
		t.Errorf("the line before it answers %v", got)
	}
	r, _ := newService(t, Options{Record: path, Log: log})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"C:2: the last line is torn, as a recorder that was killed leaves it, and counts as absent",
		"C: its last line was torn, as a recorder that was killed leaves it, and was cut off",
	}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("told %q, want %q", told, want)
	}
}

// What cannot be a line of JSON is told, and keeps nothing else out of the file.
func TestAnAnswerThatIsNoText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	var told []string
	s, _ := newService(t, Options{Record: path, Log: func(_, message string) { told = append(told, message) }})
	s.Complete(context.Background(), writer, answers("good"), userSays("before"))
	s.Complete(context.Background(), writer, answers("bad \xff\xfe"), userSays("bad"))
	s.Complete(context.Background(), writer, answers("good"), userSays("after"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := ReadCassette(path)
	if err != nil || c.Len() != 2 {
		t.Errorf("%d answers are recorded, %v", c.Len(), err)
	}
	if len(told) == 0 || !strings.Contains(strings.Join(told, "\n"), "was not recorded: ") {
		t.Errorf("told %q", told)
	}
}
