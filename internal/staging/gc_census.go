package staging

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// tempAge is how old a temporary file is before nobody can be at work on it.
const tempAge = time.Hour

// takeFiles notes all files, but not what is in them.
func (c *collector) takeFiles() error {
	root := c.store.dir
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since it was listed
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		c.takeFile(path, filepath.ToSlash(name), info)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storeError("list", root, err)
	}
	return nil
}

var logKinds = map[string]int{
	"actions.log": kindOfActions, "trails.log": kindOfTrails, "recipes.log": kindOfRecipes,
	"runs.log": kindOfRuns, "claims.log": kindOfClaims,
}

func (c *collector) takeFile(path, name string, info fs.FileInfo) {
	size, base := info.Size(), filepath.Base(name)
	age := c.Now.Sub(info.ModTime())
	kind, isLog := logKinds[name]
	number, isSegment := segmentNumber(name)
	digest, isLoose := looseName(name)
	switch {
	case isLog:
		c.sizes[kind] += size
	case isSegment && strings.HasSuffix(name, ".idx"):
		c.place(number).index = size
		c.sizes[kindOfArtifacts] += size
	case isSegment:
		c.place(number).size = size
		c.highest = max(c.highest, number)
		c.sizes[kindOfArtifacts] += size
	case isLoose:
		c.lines = append(c.lines, line{key: key64(digest), segment: looseSegment, length: uint32(size)})
		c.sizes[kindOfArtifacts] += size
	case strings.HasSuffix(base, gcSuffix), strings.HasPrefix(base, ".put-"), strings.HasPrefix(base, "memo-") && strings.HasSuffix(base, ".tmp"):
		c.leftover = append(c.leftover, gcFile{path, size, age > tempAge})
		c.sizes[kindOfLeftovers] += size
	case strings.HasSuffix(base, ".torn"):
		c.leftover = append(c.leftover, gcFile{path, size, c.MaxAge > 0 && age > c.MaxAge})
		c.sizes[kindOfLeftovers] += size
	case isRunLog(name):
		run := strings.TrimSuffix(base, ".jsonl")
		c.runLogs = append(c.runLogs, gcRunLog{gcFile{path: path, size: size}, KeyHash(run)})
		c.sizes[kindOfLogs] += size
	default:
		c.sizes[kindOfOthers] += size
	}
}

func isRunLog(name string) bool {
	base, ok := strings.CutPrefix(name, logsFolder+"/")
	return ok && strings.HasSuffix(base, ".jsonl") && !strings.Contains(base, "/")
}

func segmentNumber(name string) (uint32, bool) {
	base, ok := strings.CutPrefix(name, "artifacts/")
	number, isLines := strings.CutSuffix(base, ".jsonl")
	if !isLines {
		number, isLines = strings.CutSuffix(base, ".idx")
	}
	n, err := strconv.ParseUint(number, 10, 32)
	return uint32(n), ok && isLines && err == nil && n > 0 && n < looseSegment
}

func looseName(name string) (dag.Digest, bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 || parts[0] != "artifacts" {
		return dag.Digest{}, false
	}
	hex, isJSON := strings.CutSuffix(parts[2], ".json")
	digest, err := dag.ParseDigest(hex)
	return digest, isJSON && err == nil && hex[:2] == parts[1]
}

func (c *collector) place(number uint32) *gcPlace {
	p := c.segments[number]
	if p == nil {
		p = &gcPlace{}
		c.segments[number] = p
	}
	return p
}

// takeLines reads and hashes all segments: an index that lies would make us
// remove the wrong line.
func (c *collector) takeLines() error {
	for number, place := range c.segments {
		if err := c.takeSegment(number, place); err != nil {
			return err
		}
	}
	slices.SortFunc(c.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.segment, b.segment), cmp.Compare(a.offset, b.offset))
	})
	for i := 1; i < len(c.lines); i++ {
		c.lines[i].copy = c.lines[i].key == c.lines[i-1].key
	}
	return nil
}

func (c *collector) takeSegment(number uint32, place *gcPlace) error {
	f, err := os.Open(c.store.segmentPath(number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // its index alone is left
	}
	if err != nil {
		return storeError("open", c.store.segmentPath(number), err)
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReaderSize(io.LimitReader(f, place.size), 4*looseSize)
	offset, skipping := int64(0), false
	for {
		b, err := in.ReadSlice('\n')
		if err == nil && !skipping {
			c.lines = append(c.lines, line{key: key64(dag.Sum(b[:len(b)-1])), segment: number, offset: uint32(offset), length: uint32(len(b) - 1)})
			place.lines++
		}
		skipping = errors.Is(err, bufio.ErrBufferFull) // a line that long is none of ours
		offset += int64(len(b))
		switch {
		case err == nil, skipping:
		case errors.Is(err, io.EOF):
			return nil
		default:
			return storeError("read", f.Name(), err)
		}
	}
}

// scanLog reads a log from its file: what a process holds in memory is not asked.
func (c *collector) scanLog(name string, apply func(kind byte, payload []byte, at int64)) error {
	l := appendLog{path: filepath.Join(c.store.dir, name), readOnly: true, note: c.store.note}
	if err := l.open(); err != nil || l.f == nil {
		return err
	}
	defer l.close()
	info, err := l.f.Stat()
	if err != nil {
		return storeError("look at", l.path, err)
	}
	_, err = l.read(logHead, info.Size(), apply)
	return err
}

func (c *collector) takeRuns() error {
	return c.scanLog("runs.log", func(kind byte, payload []byte, _ int64) {
		if kind == kindSegment && len(payload) == 4 {
			c.highest = max(c.highest, binary.LittleEndian.Uint32(payload))
			return
		}
		var run Run // an end has the members that count here, too
		if json.Unmarshal(payload, &run) != nil {
			return
		}
		r := gcRun{kind: kind, payload: slices.Clone(payload), hash: KeyHash(run.ID), when: run.Started.Unix()}
		if !run.Outline.IsZero() {
			r.outline = key64(run.Outline)
		}
		if kind == kindRunStart {
			c.runAt[r.hash] = int32(len(c.runs))
		}
		c.runs = append(c.runs, r)
	})
}

// when is when a run began; of one that the journal has lost, what its id says.
func (c *collector) when(run string, hash uint64) int64 {
	if at, ok := c.runAt[hash]; ok {
		return c.runs[at].when
	}
	stamp, _, _ := strings.Cut(run, "-")
	if t, err := time.Parse("20060102T150405Z", stamp); err == nil {
		return t.Unix()
	}
	return 0
}

func (c *collector) takeRecipes() error {
	return c.scanLog("recipes.log", func(kind byte, payload []byte, _ int64) {
		if len(payload) >= len(dag.Digest{}) {
			c.recipes = append(c.recipes, gcRecipe{kind: kind, payload: slices.Clone(payload), recipe: dag.Digest(payload)})
		}
	})
}

func (c *collector) takeActions() error {
	return c.scanLog("actions.log", func(kind byte, payload []byte, at int64) {
		a := decodeAction(payload)
		if kind != kindAction || a == nil {
			return
		}
		g := gcAction{
			pos: at, size: uint32(frameHead + len(payload)), key: key64(a.Digest), run: KeyHash(a.Run), recipe: a.Recipe,
			completion: a.Recipe.IsZero() && a.Input.IsZero(), failed: a.Failure != nil, samples: a.Sample > 0,
		}
		if !a.Input.IsZero() {
			g.in = key64(a.Input)
		}
		if a.Failure == nil {
			g.out = key64(a.Output)
		}
		g.from = int32(len(c.refs))
		for i := range a.Completions {
			for _, d := range a.Completions[i].Documents() {
				c.refs = append(c.refs, key64(d))
			}
		}
		g.to = int32(len(c.refs))
		g.group = key64(a.Recipe) ^ g.in*0x9E3779B97F4A7C15
		g.when = c.when(a.Run, g.run)
		if !a.Facts.EndedAt.IsZero() {
			g.when = max(g.when, a.Facts.EndedAt.Unix())
		}
		c.byAction[g.key] = int32(len(c.actions))
		c.actions = append(c.actions, g)
	})
}

func (c *collector) takeTrails() error {
	return c.scanLog("trails.log", func(kind byte, payload []byte, at int64) {
		t := decodeTrail(payload)
		if kind != kindTrail || t == nil {
			return
		}
		g := gcTrail{
			pos: at, size: uint32(frameHead + len(payload)), key: key64(t.Key), item: KeyHash(t.Source + "\x00" + t.ItemKey),
			run: KeyHash(t.Run), ends: t.Ends, from: int32(len(c.refs)),
		}
		g.when = c.when(t.Run, g.run)
		if t.Final {
			g.flags |= trailFinal
		}
		reach, err := c.Trail(t)
		if err != nil {
			g.flags |= trailForeign
			g.needs, reach = t.needs, Reach{}
		}
		if reach.Root {
			g.flags |= trailRoot
		}
		for _, d := range reach.Actions {
			c.refs = append(c.refs, key64(d))
		}
		g.split = int32(len(c.refs))
		for _, d := range reach.Artifacts {
			c.refs = append(c.refs, key64(d))
		}
		for _, need := range t.loose {
			c.refs = append(c.refs, key64(need.digest))
		}
		g.to = int32(len(c.refs))
		if !c.met(t) {
			g.flags |= trailDangling
		}
		c.trails = append(c.trails, g)
	})
}

// met is needsMet on the files as they were counted.
func (c *collector) met(t *Trail) bool {
	for _, need := range t.needs {
		if p := c.segments[need.segment]; p == nil || p.size < int64(need.end) {
			return false
		}
	}
	for _, need := range t.loose {
		if i := c.find(key64(need.digest)); i < 0 || c.lines[i].segment != looseSegment || c.lines[i].length != need.length {
			return false
		}
	}
	return true
}

// find gives the place of an artifact in lines; -1: it is not there.
func (c *collector) find(key uint64) int {
	i, ok := slices.BinarySearchFunc(c.lines, key, func(l line, key uint64) int { return cmp.Compare(l.key, key) })
	if !ok {
		return -1
	}
	return i
}

// dangle finds the actions whose output is gone.
func (c *collector) dangle() {
	for i := range c.actions {
		a := &c.actions[i]
		a.dangling = !a.failed && c.find(a.out) < 0
	}
}
