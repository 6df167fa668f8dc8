package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// hastyDisk syncs nothing: what is asked here is what stands in the files.
type hastyDisk struct{ osDisk }

type hastyFile struct{ diskFile }

func (hastyFile) sync() error { return nil }

func (d hastyDisk) open(path string, create bool) (diskFile, error) {
	f, err := d.osDisk.open(path, create)
	if err != nil {
		return nil, err
	}
	return hastyFile{f}, nil
}

func (hastyDisk) syncDir(string) error { return nil }

func (d hastyDisk) replace(path string, data []byte) error {
	return os.WriteFile(inDir(d.dir, path), data, 0o644)
}

// tornFiles are those of which a last line may be torn.
var tornFiles = []string{"data/art.jsonl", "meta/verification.jsonl", "meta/rejections.jsonl"}

// leftFiles makes a corpus as a process leaves it that dies: a record and a
// rejection at a checkpoint, another of each in the journal. It gives what is in
// the files.
func leftFiles(t *testing.T) (dir string, files map[string]string) {
	t.Helper()
	dir = t.TempDir()
	g := mustOpen(t, options(t, dir, plain(uniqueQuestion())))
	for i, q := range []string{"One?", "Twö?"} {
		twin := question(fmt.Sprint("twin", i), q)
		twin.Scope = docs{"item": fmt.Sprintf(`{"q":%q,"n":%d}`, q, i)}
		v := judge(t, g, question(fmt.Sprint(i), q), twin)
		if v[0].End != dag.Accepted || v[1].End != dag.Rejected {
			t.Fatalf("%+v", v)
		}
		if i == 0 {
			if err := g.store.checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	files = map[string]string{}
	for _, path := range append([]string{journalPath, statePath, breakersPath}, tornFiles...) {
		b, err := os.ReadFile(inDir(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		files[path] = string(b)
	}
	g.store.records = 0 // it dies: no checkpoint
	// The journal's room is not written back a thousand times.
	files[journalPath] = strings.TrimRight(files[journalPath], "\x00") + "\x00\x00\x00\x00"
	return dir, files
}

func putBack(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for path, content := range files {
		if err := os.WriteFile(inDir(dir, path), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(inDir(dir, path+".torn"))
	}
}

func step7(short bool) int {
	if short {
		return 7
	}
	return 1
}

// The last line of each file cut at every byte, by a loss of power: the journal
// has it, and writes what is missing.
func TestTornRowsOfTheJournal(t *testing.T) {
	dir, files := leftFiles(t)
	for _, path := range tornFiles {
		content := files[path]
		last := strings.LastIndex(strings.TrimSuffix(content, "\n"), "\n") + 1
		for cut := last; cut < len(content); cut += step7(testing.Short()) {
			putBack(t, dir, files)
			if err := os.Truncate(inDir(dir, path), int64(cut)); err != nil {
				t.Fatal(err)
			}
			var said []string
			s, err := openStore(hastyDisk{osDisk{dir}}, func(what string) { said = append(said, what) }, func(string) {})
			if err == nil {
				err = s.begin()
			}
			if err != nil {
				t.Fatalf("%s cut at %d: %v", path, cut, err)
			}
			s.close()
			for name := range files {
				if strings.HasPrefix(filepath.Base(name), ".") {
					continue
				}
				if have, _ := os.ReadFile(inDir(dir, name)); string(have) != files[name] {
					t.Fatalf("%s cut at %d: %s holds %q", path, cut, name, have)
				}
			}
			if diff := cmp.Diff([]string{"finished a commit that was interrupted"}, said); diff != "" {
				t.Fatalf("%s cut at %d: %s", path, cut, diff)
			}
		}
	}
}

// A line that another program has added, cut at every byte: whole JSON without a
// line feed is ended, anything else is moved aside, and both are said.
func TestTornRowsOfOthers(t *testing.T) {
	dir, files := leftFiles(t)
	const row = `{"id":"a9","q":"Né \"?\""}`
	for _, path := range tornFiles {
		for cut := 1; cut <= len(row); cut++ {
			putBack(t, dir, files)
			if err := os.WriteFile(inDir(dir, path), []byte(files[path]+row[:cut]), 0o644); err != nil {
				t.Fatal(err)
			}
			var said []string
			s, err := openStore(hastyDisk{osDisk{dir}}, func(what string) { said = append(said, what) }, func(string) {})
			if err == nil {
				err = s.begin()
			}
			size := int64(0)
			if err == nil {
				size, err = s.settle(path)
			}
			if err != nil {
				t.Fatalf("%s cut at %d: %v", path, cut, err)
			}
			s.close()
			want, torn, says := files[path], row[:cut]+"\n", fmt.Sprintf("%s: %d bytes that are no whole line were moved to %s.torn", path, cut, path)
			if cut == len(row) {
				want, torn, says = want+row+"\n", "", path+": the last line had no line feed and is whole JSON; it was ended"
			}
			have, _ := os.ReadFile(inDir(dir, path))
			aside, _ := os.ReadFile(inDir(dir, path+".torn"))
			if string(have) != want || size != int64(len(want)) || string(aside) != torn {
				t.Fatalf("%s cut at %d: it holds %q, set aside is %q", path, cut, have, aside)
			}
			if diff := cmp.Diff([]string{says}, said); diff != "" {
				t.Fatalf("%s cut at %d: %s", path, cut, diff)
			}
		}
	}
}
