package revision

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// repository is a folder under git, with files by name and content.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	put(t, dir, files)
	commit(t, dir)
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func commit(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "x")
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tree is what lies below a folder: content, or "-> TARGET" of a link, with "x "
// before what may be executed.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			files[name] = "-> " + target
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		files[name] = string(content)
		if info.Mode()&0o100 != 0 {
			files[name] = "x " + files[name]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Files are as they were committed: attributes that would leave some out of an
// archive, or change their line ends, have no say.
func TestExtract(t *testing.T) {
	dir := repository(t, map[string]string{
		"p/pipeline.hcl": "one\n", "p/prompts/ä b.md": "x\ny", "p/empty": "", "p/bin": "\x00\xff\n", "p/run.sh": "#!/bin/sh\n",
		"p/staging/artifacts/1.jsonl": "{}\n", "other.txt": "o", ".gitattributes": "*.md export-ignore\n*.hcl text eol=crlf\n",
	})
	p := filepath.Join(dir, "p")
	if err := os.Chmod(filepath.Join(p, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"in": "prompts/../bin", "out": "../other.txt", "abs": "/etc/passwd"} {
		if err := os.Symlink(target, filepath.Join(p, name)); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, dir)
	put(t, dir, map[string]string{"p/pipeline.hcl": "two\n", "p/new": "n"})
	commit(t, dir)
	put(t, dir, map[string]string{"p/pipeline.hcl": "three, not committed\n"})
	t.Setenv("GIT_DIR", "elsewhere/.git") // as in a hook
	t.Setenv("GIT_WORK_TREE", "elsewhere")
	into := t.TempDir()
	name, err := Extract(t.Context(), p, "HEAD~1", into, "staging")
	if err != nil {
		t.Fatal(err)
	}
	if len(name) != 40 {
		t.Errorf("the revision is called %q", name)
	}
	want := map[string]string{
		"pipeline.hcl": "one\n", "prompts/ä b.md": "x\ny", "empty": "", "bin": "\x00\xff\n", "run.sh": "x #!/bin/sh\n", "in": "-> prompts/../bin",
	}
	if diff := cmp.Diff(want, tree(t, into)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestExtractRefuses(t *testing.T) {
	dir := repository(t, map[string]string{"a": "1"})
	if err := os.Mkdir(filepath.Join(dir, "later"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, rev, want string }{
		{"a revision that is not there", dir, "nope", "read revision nope: there is no such revision"},
		{"one that looks like a flag", dir, "--all", "read revision --all: there is no such revision"},
		{"no revision", dir, "", "read revision: there is no such revision"},
		{"a folder that was not there", filepath.Join(dir, "later"), "HEAD", "read revision HEAD: " + filepath.Join(dir, "later") + " was not there yet, or had no file"},
		{"no repository", t.TempDir(), "HEAD", "is not in a git repository"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Extract(t.Context(), c.dir, c.rev, t.TempDir())
			if err == nil || !strings.HasSuffix(err.Error(), c.want) || dag.KindOf(err) != dag.KindConfig {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
