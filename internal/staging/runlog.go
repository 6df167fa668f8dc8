package staging

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// Bounds of what is kept of a run's log: a plugin that says the same for ever must
// not fill a disk.
const (
	visitLogMost = 1 << 20   // bytes of one execution of a visit
	runLogMost   = 256 << 20 // bytes of one run
)

// LogLine is a line that a plugin said: of a visit, or of its process.
type LogLine struct {
	At      time.Time  `json:"at"`
	Plugin  string     `json:"plugin"`
	Stage   string     `json:"stage,omitempty"` // empty: the process said it, of no visit that is known
	Item    string     `json:"item,omitempty"`  // that the visit was made for
	Pass    int        `json:"pass,omitzero"`
	Attempt int        `json:"attempt,omitzero"` // executions of the visit are counted from 1
	Action  dag.Digest `json:"action,omitzero"`
	Level   string     `json:"level"` // "debug", "info", "warn", "error"
	Text    string     `json:"text"`
	Cut     bool       `json:"cut,omitzero"` // nothing behind it was kept: there was too much
}

// RunLog keeps what the plugins of one run say, in staging/logs/RUN.jsonl. Several
// goroutines may write; what cannot be written is lost, and ends no run.
type RunLog struct {
	path string

	mu    sync.Mutex
	file  *os.File
	size  int64
	of    map[logged]int64 // bytes, by execution
	ended bool             // closed, or full
}

// logged is one execution of a visit; without an action a process.
type logged struct {
	plugin  string
	action  dag.Digest
	attempt int
}

// RunLog begins the log of a run; nil where the store is only read. The file is made
// when there is a line for it.
func (s *Store) RunLog(run string) *RunLog {
	if s.readOnly {
		return nil
	}
	return &RunLog{path: runLogPath(s.dir, run), of: map[logged]int64{}}
}

func runLogPath(dir, run string) string { return filepath.Join(dir, logsFolder, run+".jsonl") }

const logsFolder = "logs"

// Add keeps a line.
func (l *RunLog) Add(line *LogLine) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	of := logged{line.Plugin, line.Action, line.Attempt}
	most := int64(visitLogMost)
	if line.Action.IsZero() {
		most = runLogMost
	}
	if l.ended || l.of[of] >= most {
		return
	}
	kept := *line
	if l.of[of]+int64(len(line.Text)) >= most || l.size+int64(len(line.Text)) >= runLogMost {
		kept.Text, kept.Cut = "", true
		l.of[of] = most
		l.ended = l.size+int64(len(line.Text)) >= runLogMost
	}
	b, err := json.Marshal(&kept, json.Deterministic(true))
	if err != nil {
		return // text that is no UTF-8: the host has replaced it
	}
	if l.file == nil && !l.open() {
		l.ended = true
		return
	}
	n, _ := l.file.Write(append(b, '\n')) // a log that cannot be written is no failure of a visit
	l.size += int64(n)
	l.of[of] += int64(n)
}

func (l *RunLog) open() bool {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return false
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	l.file = file
	return err == nil
}

// Close ends the log.
func (l *RunLog) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// LoggedRuns are the runs of which a log is kept, the latest first.
func (s *Store) LoggedRuns() []string {
	entries, err := os.ReadDir(filepath.Join(s.dir, logsFolder))
	if err != nil {
		return nil // there is none
	}
	var runs []string
	for _, e := range entries {
		if run, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok {
			runs = append(runs, run)
		}
	}
	slices.Sort(runs)
	slices.Reverse(runs)
	return runs
}

// LogFile is where a run's log is, by its path from the pipeline's directory.
func LogFile(run string) string { return filepath.ToSlash(runLogPath("staging", run)) }

// ReadRunLog calls yield with the lines of a run that hold a text, such as a digest
// or a name as JSON has it, in the order in which they were said. A run without a log
// has no line; a torn line is left out.
func (s *Store) ReadRunLog(run, holds string, yield func(*LogLine)) error {
	path := runLogPath(s.dir, run)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return storeError("read", path, err)
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 1<<16)
	for {
		b, err := r.ReadBytes('\n')
		if err == nil && bytes.Contains(b, []byte(holds)) {
			var line LogLine
			if json.Unmarshal(b, &line) == nil {
				yield(&line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return storeError("read", path, err)
		}
	}
}
