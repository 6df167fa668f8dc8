// Package revision reads a folder as it was at a revision of git.
//
// cmd/penstock calls it to compare a pipeline with an earlier one. It runs git
// to list and read objects, and nothing else: no filter, hook, attribute or
// setting of the repository has a say in what the files hold.
//
// It refuses to touch the repository or its working tree, and to write a file
// outside of the folder that it is given.
package revision

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/dag"
)

// Extract writes the files that stood below dir at a revision into the folder
// into, and gives the revision's full name. Files below one of the names in
// except, which are relative to dir, are left out.
func Extract(ctx context.Context, dir, rev, into string, except ...string) (commit string, err error) {
	if _, err := exec.LookPath("git"); err != nil {
		return "", fail(rev, errors.New("there is no git on this machine"), "install git, or compare two folders: penstock diff OLD NEW")
	}
	if _, err := run(ctx, dir, "rev-parse", "--is-inside-work-tree"); err != nil {
		return "", fail(rev, fmt.Errorf("%s is not in a git repository", dir), "start in one, or compare two folders: penstock diff OLD NEW")
	}
	name, err := run(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return "", fail(rev, errors.New("there is no such revision"),
			"`git log --oneline` lists some; a checkout of CI may have the last commit only: fetch the revision first")
	}
	commit = strings.TrimSpace(string(name))
	files, err := list(ctx, dir, commit, except)
	if err != nil {
		return "", fail(rev, err, "")
	}
	if len(files) == 0 {
		return "", fail(rev, fmt.Errorf("%s was not there yet, or had no file", dir), "name a later revision")
	}
	if err := write(ctx, dir, into, files); err != nil {
		return "", fail(rev, err, "")
	}
	return commit, nil
}

func fail(rev string, err error, hint string) error {
	kind := dag.KindConfig
	if hint == "" {
		kind = dag.KindInfrastructure
	}
	return &dag.Error{Op: "read revision", Subject: rev, Kind: kind, Err: err, Hint: hint}
}

// command is git in dir. A hook of git sets variables that name its repository
// by a path from another folder: the one that dir lies in is meant.
func command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"}, name)
	})
	return cmd
}

// run gives what a git command prints; its error says what git said.
func run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := command(ctx, dir, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && said.Len() > 0 {
		err = fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(said.String()))
	}
	return out, err
}

// file is an entry of a tree.
type file struct {
	mode, object, name string
}

const (
	modeProgram = "100755"
	modeLink    = "120000"
)

// list gives the files below dir, by their paths from there.
func list(ctx context.Context, dir, commit string, except []string) ([]file, error) {
	out, err := run(ctx, dir, "ls-tree", "-r", "-z", commit)
	if err != nil {
		return nil, err
	}
	var files []file
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, name, ok := strings.Cut(entry, "\t")
		words := strings.Fields(head)
		if !ok || len(words) != 3 || words[1] != "blob" { // a submodule is another repository
			continue
		}
		if !filepath.IsLocal(name) || left(name, except) {
			continue
		}
		files = append(files, file{mode: words[0], object: words[2], name: name})
	}
	return files, nil
}

func left(name string, except []string) bool {
	for _, out := range except {
		if name == out || strings.HasPrefix(name, out+"/") {
			return true
		}
	}
	return false
}

// write reads all objects through one process and writes the files.
func write(ctx context.Context, dir, into string, files []file) (err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	cmd := command(ctx, dir, "cat-file", "--batch")
	asks, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer asks.Close()
		for _, f := range files {
			if _, err := io.WriteString(asks, f.object+"\n"); err != nil {
				return // it has ended, and the reader meets that
			}
		}
	}()
	in := bufio.NewReaderSize(answers, 64<<10)
	for _, f := range files {
		if err = one(in, into, f); err != nil {
			err = fmt.Errorf("%s: %w", f.name, err)
			end()
			break
		}
	}
	if ended := cmd.Wait(); err == nil {
		err = ended
	}
	return err
}

// one reads an answer, "OBJECT blob SIZE", the bytes and a line feed, into its file.
func one(in *bufio.Reader, into string, f file) error {
	head, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	words := strings.Fields(head)
	if len(words) != 3 {
		return fmt.Errorf("git cat-file: %s", strings.TrimSpace(head))
	}
	size, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		return err
	}
	to := filepath.Join(into, filepath.FromSlash(f.name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if f.mode == modeLink {
		err = link(in, size, to, f.name)
	} else {
		err = regular(in, size, to, f.mode == modeProgram)
	}
	if err == nil {
		_, err = in.Discard(1)
	}
	return err
}

func regular(in io.Reader, size int64, to string, program bool) error {
	mode := os.FileMode(0o644)
	if program {
		mode = 0o755
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, in, size)
	return errors.Join(err, out.Close())
}

// maxLink is longer than any path that a system takes.
const maxLink = 64 << 10

// link makes a symbolic link. One that leads out of the folder is left out: at
// another place it would lead to another file than it did.
func link(in io.Reader, size int64, to, name string) error {
	if size > maxLink {
		return fmt.Errorf("a link of %d bytes", size)
	}
	target := make([]byte, size)
	if _, err := io.ReadFull(in, target); err != nil {
		return err
	}
	if path.IsAbs(string(target)) || !filepath.IsLocal(path.Join(path.Dir(name), string(target))) {
		return nil
	}
	return os.Symlink(string(target), to)
}
