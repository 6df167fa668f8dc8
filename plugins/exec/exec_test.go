package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// script makes a runner for a shell script in a folder of its own.
func script(t *testing.T, text, exits string) *runner {
	t.Helper()
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "run.sh"), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	config := `{"command":["./run.sh","an argument"],"files":["*.sh"]`
	if exits != "" {
		config += `,"exits":` + exits
	}
	r, err := configure(sdk.Config{JSON: []byte(config + "}"), Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func describe(result sdk.Result, err error) string {
	if err != nil {
		var f *sdk.Failure
		if errors.As(err, &f) && f.Infrastructure {
			return "infrastructure " + err.Error()
		}
		return err.Error()
	}
	return fmt.Sprintf("%s %s", result.Outcome, result.Output)
}

func TestRun(t *testing.T) {
	const exits = `{"0":"accept","3":"reject"}`
	tests := []struct{ name, script, exits, want string }{
		{"echo", "cat", "", `ok {"q":"Who?"}`},
		{"the outcome by the status", `echo '{"r":1}'; exit 3`, exits, `reject {"r":1}`},
		{"layout does not matter", `printf ' { "b" : 1,\n"a":2 }\n'`, exits, `accept {"a":2,"b":1}`},
		{"arguments", `printf '["%s","%s"]' "$#" "$1"`, "", `ok ["1","an argument"]`},
		{"the pipeline's directory", `printf '"%s"' "$(basename "$(ls)")"`, "", `ok "run.sh"`},
		{"input that is not read", `echo 1`, "", `ok 1`},
		{"noise on stderr", `echo noise >&2; echo 1`, "", `ok 1`},
		{"a status that is not listed", `echo 1; echo first >&2; printf 'bad \033[31mthing\007\n\n' >&2; exit 2`, exits,
			"E_EXEC: the command ended with status 2, which `exits` does not list: bad  [31mthing"},
		{"status 0 that is not listed", `echo 1`, `{"1":"ok"}`, "E_EXEC: the command ended with status 0, which `exits` does not list"},
		{"a silent bad status", `exit 1`, "", "E_EXEC: the command ended with status 1, which `exits` does not list"},
		{"killed", `echo dying >&2; kill -9 $$`, `{"9":"ok","137":"ok","0":"ok"}`, "E_EXEC: the command was killed by signal: killed: dying"},
		{"nothing printed", `exit 0`, "", "E_MALFORMED: the command ended with status 0 and printed nothing on stdout; it must print one JSON document"},
		{"not JSON", `echo '{"a":1} trailing'`, "", "E_MALFORMED: the command's stdout is not one strict JSON document: …"},
		{"a name twice", `echo '{"a":1,"a":2}'`, "", "E_MALFORMED: the command's stdout is not one strict JSON document: …"},
		{"bad UTF-8", `printf '"\377"'`, "", "E_MALFORMED: the command's stdout is not one strict JSON document: …"},
		{"NaN", `echo NaN`, "", "E_MALFORMED: the command's stdout is not one strict JSON document: …"},
		{"bad UTF-8 on stderr", `printf 'a\377b' >&2; exit 9`, "", "E_EXEC: the command ended with status 9, which `exits` does not list: a\uFFFDb"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := describe(script(t, test.script, test.exits).run(context.Background(), []byte(`{"q":"Who?"}`), silent))
			if head, _, cut := strings.Cut(test.want, "…"); !strings.HasPrefix(got, head) || !cut && got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestLargeInputAndOutput(t *testing.T) {
	input := []byte(`"` + strings.Repeat("x", 16<<20) + `"`)
	result, err := script(t, "cat", "").run(context.Background(), input, silent)
	if err != nil {
		t.Fatal(err)
	}
	if string(result.Output.([]byte)) != string(input) {
		t.Error("16 MiB did not come back as they were sent")
	}
	// More input than a pipe holds, and nobody who reads it.
	if got := describe(script(t, "echo 1", "").run(context.Background(), input, silent)); got != "ok 1" {
		t.Errorf("got %s", got)
	}
}

func TestTooMuchOutput(t *testing.T) {
	got := describe(script(t, "yes", "").run(context.Background(), []byte(`{}`), silent))
	if want := "E_DOCUMENT_SIZE: the command printed more than 64 MiB on stdout"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestStderrWithoutEnd(t *testing.T) {
	got := describe(script(t, "yes noise | head -c 5000000 >&2; echo >&2; echo the reason >&2; exit 1", "").run(context.Background(), []byte(`{}`), silent))
	if want := "E_EXEC: the command ended with status 1, which `exits` does not list: the reason"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	long := &tail{say: silent}
	for range 100 {
		if _, err := long.Write([]byte(strings.Repeat("ä", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	if len(long.kept) > 3*maxTail {
		t.Errorf("%d bytes of stderr are kept", len(long.kept))
	}
	if got := long.lastLine(); len([]rune(got)) != 301 {
		t.Errorf("a line of %d characters is shown", len([]rune(got)))
	}
}

// alive tells whether a process runs; one that ended and waits for its parent does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("waited a minute in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// pids waits until the script wrote as many process ids to a file of its folder.
func pids(t *testing.T, r *runner, n int) []int {
	t.Helper()
	var all []int
	wait(t, "process ids", func() bool {
		b, err := os.ReadFile(filepath.Join(r.directory, "pids"))
		if err != nil || strings.Count(string(b), "\n") < n {
			return false
		}
		all = nil
		for field := range strings.FieldsSeq(string(b)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, pid)
		}
		return true
	})
	return all
}

func TestCancelKillsTheGroup(t *testing.T) {
	for name, text := range map[string]string{
		"that ends when told":  "sleep 600 & echo $! >> pids; echo $$ >> pids; wait",
		"that does not listen": "trap '' TERM; (trap '' TERM; sleep 600) & echo $! >> pids; echo $$ >> pids; while :; do sleep 600; done",
	} {
		t.Run(name, func(t *testing.T) {
			r := script(t, text, "")
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan string)
			go func() { ended <- describe(r.run(ctx, []byte(`{}`), silent)) }()
			processes := pids(t, r, 2)
			cancel()
			if got, want := <-ended, "infrastructure E_UNAVAILABLE: the visit was cancelled and its command killed"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			wait(t, "the end of every process", func() bool { return !alive(processes[0]) && !alive(processes[1]) })
		})
	}
}

func TestDeadline(t *testing.T) {
	r := script(t, "sleep 600", "")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	got := describe(r.run(ctx, []byte(`{}`), silent))
	if want := "infrastructure E_TIMEOUT: the command did not end before the deadline and was killed"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCancelledBeforeItStarts(t *testing.T) {
	r := script(t, "touch started; echo 1", "")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := describe(r.run(ctx, []byte(`{}`), silent)); got != "infrastructure E_UNAVAILABLE: the visit was cancelled and its command killed" {
		t.Errorf("got %s", got)
	}
	if _, err := os.Stat(filepath.Join(r.directory, "started")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the command ran all the same: %v", err)
	}
}

// What a command leaves running ends with it, and does not hold up its visit.
func TestNothingIsLeftBehind(t *testing.T) {
	r := script(t, "sleep 600 & echo $! >> pids; echo 1", "")
	if got := describe(r.run(context.Background(), []byte(`{}`), silent)); got != "ok 1" {
		t.Errorf("got %s", got)
	}
	left := pids(t, r, 1)[0]
	wait(t, "the end of the process that was left", func() bool { return !alive(left) })
}

func TestConfigureRefuses(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "plain.txt"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, config, want string }{
		{"no command", `{"command":[]}`, `command: The command is empty: Name a program and its arguments, as in ["python3", "score.py"].`},
		{"not in PATH", `{"command":["no-such-program-here"]}`, `command: The program cannot be run: no-such-program-here: executable file not found in $PATH.`},
		{"not there", `{"command":["./missing.sh"]}`, `command: The program cannot be run: ./missing.sh: no such file or directory.`},
		{"not executable", `{"command":["./plain.txt"]}`, `command: The program cannot be run: ./plain.txt: permission denied.`},
		{"bad statuses", `{"command":["sh"],"exits":{"-1":"a","01":"b","256":"c","ok":"d","0":""}}`,
			"exits: Not an exit status: \"-1\" in exits: a status is a whole number from 0 to 255.\n" +
				"exits: An exit status without an outcome: Status 0 needs the word of an outcome.\n" +
				"exits: Not an exit status: \"01\" in exits: a status is a whole number from 0 to 255.\n" +
				"exits: Not an exit status: \"256\" in exits: a status is a whole number from 0 to 255.\n" +
				"exits: Not an exit status: \"ok\" in exits: a status is a whole number from 0 to 255."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := configure(sdk.Config{JSON: []byte(test.config), Directory: directory})
			var diags sdk.Diagnostics
			if !errors.As(err, &diags) {
				t.Fatalf("got %v, want diagnostics", err)
			}
			var lines []string
			for _, d := range diags {
				lines = append(lines, strings.Join(d.Path, ".")+": "+d.Summary+": "+d.Detail)
			}
			if diff := cmp.Diff(test.want, strings.Join(lines, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindInARelativeDirectory(t *testing.T) {
	directory := t.TempDir()
	t.Chdir(directory)
	if err := errors.Join(os.Mkdir("p", 0o755), os.WriteFile("p/run.sh", []byte("#!/bin/sh\ncat\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	r, err := configure(sdk.Config{JSON: []byte(`{"command":["./run.sh"]}`), Directory: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(r.run(context.Background(), []byte(`[]`), silent)); got != "ok []" {
		t.Errorf("got %s", got)
	}
}

// What fixed commands come to may change only together with Behaviour.
func TestBehaviour(t *testing.T) {
	var out strings.Builder
	for _, text := range []string{"cat", `printf '{ "n" : 1.0 }'; exit 1`, "echo why >&2; exit 2", "exit 0", "kill -9 $$", "echo x"} {
		r := script(t, text, `{"0":"ok","1":"no"}`)
		result, err := r.run(context.Background(), []byte(`{"q":"Ö"}`), silent)
		line, jsonErr := json.Marshal([]string{text, describe(result, err)})
		if jsonErr != nil {
			t.Fatal(jsonErr)
		}
		out.WriteString(string(line) + "\n")
	}
	golden(t, Behaviour, out.String())
}

// golden compares with what was kept for this behaviour. A behaviour that is
// kept is never written again: changed outputs need a new one.
func golden(t *testing.T, behaviour, got string) {
	t.Helper()
	path := filepath.Join("testdata", "behaviour", strings.ReplaceAll(behaviour, "/", "-")+".golden")
	want, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("KEEP_BEHAVIOUR") != "" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatalf("nothing is kept for behaviour %s (KEEP_BEHAVIOUR=1 go test keeps it): %v", behaviour, err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("behaviour %s gives other outputs than it gave: raise Behaviour, then KEEP_BEHAVIOUR=1 go test (-kept +got):\n%s", behaviour, diff)
	}
}

// silent is who does not listen to a command.
func silent(string) {}
