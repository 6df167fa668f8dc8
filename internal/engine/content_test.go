package engine

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A file that comes up while a run goes on is seen wherever the pattern reaches:
// also in a folder that held none, or that was not there.
func TestFilesThatComeUp(t *testing.T) {
	for _, tt := range []struct {
		pattern, file string
		seen          bool
	}{
		{"lib/**/*.py", "lib/a/y.py", true},
		{"lib/**/*.py", "lib/empty/y.py", true},
		{"lib/**/*.py", "lib/new/deep/y.py", true},
		{"lib/**/*.py", "lib/new/y.txt", false},
		{"lib/*/*.py", "lib/empty/y.py", true},
		{"lib/a/*.py", "lib/empty/y.py", false},
		{"lib/a/x.py", "lib/a/y.py", false},
	} {
		t.Run(tt.pattern+" "+tt.file, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name string) {
				t.Helper()
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write("lib/a/x.py")
			if err := os.Mkdir(filepath.Join(dir, "lib", "empty"), 0o755); err != nil {
				t.Fatal(err)
			}
			f := &files{fsys: os.DirFS(dir), state: map[string]fs.FileInfo{}, folders: map[string]fs.FileInfo{}}
			if _, err := f.digest([]string{tt.pattern}); err != nil {
				t.Fatal(err)
			}
			if err := f.unchanged(); err != nil {
				t.Fatalf("nothing has changed: %v", err)
			}
			write(tt.file)
			if err := f.unchanged(); (err != nil) != tt.seen {
				t.Errorf("got %v, want seen %v", err, tt.seen)
			}
		})
	}
}
