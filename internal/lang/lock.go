package lang

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

// LockFile is the name of the lock that belongs to a pipeline file, beside it.
func LockFile(pipeline string) string {
	if pipeline == "" || pipeline == DefaultFile {
		return "penstock.lock.hcl"
	}
	return strings.TrimSuffix(pipeline, ".hcl") + ".lock.hcl"
}

// ReadLock reads a lock file. It reads what a newer Penstock wrote as far as it
// can: what it does not know is kept, with a warning. The lock is nil where
// there are errors.
func ReadLock(name string, src []byte) (*dag.Lock, hcl.Diagnostics) {
	r := &lockReader{src: src, lock: &dag.Lock{File: name}, seen: map[string]*hclsyntax.Block{}}
	r.read(name)
	if r.diags.HasErrors() {
		return nil, r.diags
	}
	r.settle()
	return r.lock, r.diags
}

// lockReader is one reading of a lock file.
type lockReader struct {
	src   []byte
	lock  *dag.Lock
	diags hcl.Diagnostics
	seen  map[string]*hclsyntax.Block // entries by what they are of
	pins  []pinned
}

// pinned is a digest, which may stand before its plugin.
type pinned struct {
	plugin string
	pin    dag.Pin
	at     hcl.Range
}

// relock is how an entry that cannot be used is made anew.
const relock = "Remove the line, and let\n    penstock plugin lock\nwrite it anew."

// conflict finds what git leaves where it could not merge.
var conflict = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(<{7} .*|={7}|>{7} .*|\|{7} .*)$`) })

func (r *lockReader) read(name string) {
	if m := conflict().FindIndex(r.src); m != nil {
		r.error(rangeOf(name, r.src, m[0], m[1]-m[0]), mergeConflict, "Git could not merge this file. Keep the lines of both sides, remove the markers, and let\n    penstock plugin lock\nsort them. With this line in .gitattributes git keeps both sides by itself:\n    "+MergeAttribute(name))
		return
	}
	if d := guard(name, r.src); d != nil {
		r.diags = append(r.diags, d)
		return
	}
	body, diags := parse(name, r.src, formLock)
	r.diags = append(r.diags, diags...)
	if diags.HasErrors() {
		return
	}
	for _, attr := range inOrder(body.Attributes) {
		r.unknown(attr.SrcRange, fmt.Sprintf("the attribute %q", attr.Name))
	}
	for _, b := range body.Blocks {
		switch {
		case b.Type == "failure" && len(b.Labels) == 1:
			r.failure(b)
		case b.Type == "plugin" && len(b.Labels) == 1:
			r.plugin(b)
		case b.Type == "digest" && len(b.Labels) == 2:
			r.digest(b)
		default:
			r.unknown(b.Range(), fmt.Sprintf("%s block with %d labels", strings.ToLower(indefinite(b.Type)), len(b.Labels)))
		}
	}
}

// MergeAttribute is the line of .gitattributes that lets branches add entries
// to a lock side by side.
func MergeAttribute(lock string) string { return lock + " merge=union" }

func (r *lockReader) error(at hcl.Range, summary, detail string) {
	r.diags = append(r.diags, diag.Error(at, summary, detail))
}

// unknown keeps what this version does not know.
func (r *lockReader) unknown(at hcl.Range, what string) {
	r.lock.Unknown = append(r.lock.Unknown, string(at.SliceBytes(r.src)))
	r.newer(at, what)
}

func (r *lockReader) newer(at hcl.Range, what string) {
	r.diags = append(r.diags, diag.Warning(at, newerLock, fmt.Sprintf("This version of Penstock does not know %s in a lock. It is kept as it is, and not looked at.", what)))
}

// first complains where an entry stands a second time. The very same line twice
// says nothing else than once: a merge may leave it.
func (r *lockReader) first(of string, b *hclsyntax.Block, detail string) bool {
	before := r.seen[of]
	if before == nil {
		r.seen[of] = b
		return true
	}
	if !bytes.Equal(before.Range().SliceBytes(r.src), b.Range().SliceBytes(r.src)) {
		d := diag.Error(b.DefRange(), lockedTwice, detail)
		r.diags = append(r.diags, diag.With(d, diag.Info{Related: []diag.Related{{Label: "first here", Range: before.DefRange()}}}))
	}
	return false
}

// attributes gives the attributes of an entry that this version knows, and
// keeps the others.
func (r *lockReader) attributes(b *hclsyntax.Block, known func(string) bool) (map[string]*hclsyntax.Attribute, dag.LockExtra) {
	found, extra := map[string]*hclsyntax.Attribute{}, dag.LockExtra{}
	for _, attr := range inOrder(b.Body.Attributes) {
		if known(attr.Name) {
			found[attr.Name] = attr
			continue
		}
		if extra.Attributes == nil {
			extra.Attributes = map[string]string{}
		}
		extra.Attributes[attr.Name] = string(attr.Expr.Range().SliceBytes(r.src))
		r.newer(attr.NameRange, fmt.Sprintf("the attribute %q of %s block", attr.Name, strings.ToLower(indefinite(b.Type))))
	}
	for _, inner := range b.Body.Blocks {
		r.error(inner.DefRange(), badLock, "Entries of a lock hold no blocks. "+relock)
	}
	return found, extra
}

func (r *lockReader) failure(b *hclsyntax.Block) {
	code := b.Labels[0]
	if !isCode(code) {
		r.error(b.LabelRanges[0], badLock, fmt.Sprintf("%q is no failure code: codes are written in capitals, digits and _, with a letter first. %s", code, relock))
		return
	}
	if !r.first("failure "+code, b, fmt.Sprintf("The failure code %s stands here twice, as after a merge. Keep one line: the one with `retired = true`, if there is one and nothing gives the code any more.", code)) {
		return
	}
	attrs, extra := r.attributes(b, func(name string) bool { return name == "retired" })
	k := dag.LockedCode{Code: dag.Code(code), Unknown: extra, Pos: posOf(b.DefRange())}
	if attr := attrs["retired"]; attr != nil {
		v, diags := attr.Expr.Value(nil)
		if diags.HasErrors() || v.IsNull() || v.Type() != cty.Bool {
			r.error(attr.Expr.Range(), badLock, "`retired` is true or false. "+relock)
			return
		}
		k.Retired = v.True()
	}
	r.lock.Codes = append(r.lock.Codes, k)
}

func (r *lockReader) plugin(b *hclsyntax.Block) {
	name := b.Labels[0]
	if !r.first("plugin "+name, b, fmt.Sprintf("The plugin %q is locked twice, as after a merge of two branches that both changed it. Keep the line that is meant, and let\n    penstock plugin lock\ncompare it with the plugin.", name)) {
		return
	}
	attrs, extra := r.attributes(b, func(name string) bool { return name == "locked" })
	attr := attrs["locked"]
	if attr == nil {
		r.error(b.DefRange(), badLock, "The entry of a plugin says what is locked. "+relock)
		return
	}
	entry, err := readDescription(attr.Expr)
	if err != nil {
		r.error(attr.Expr.Range(), badLock, fmt.Sprintf("What is locked of the plugin %q cannot be read: %s. %s", name, strings.TrimSuffix(err.Error(), "."), relock))
		return
	}
	if len(entry.Unknown) > 0 {
		extra.Members = entry.Unknown
		r.newer(attr.NameRange, "some of what is locked of the plugin")
	}
	r.lock.Plugins = append(r.lock.Plugins, dag.LockedPlugin{
		Name: name, Source: entry.Source, Command: entry.Command, Info: entry.info(), Unknown: extra, Pos: posOf(b.DefRange()),
	})
}

func readDescription(e hclsyntax.Expression) (*lockedEntry, error) {
	v, diags := e.Value(nil)
	if diags.HasErrors() {
		return nil, errors.New(diags[0].Detail)
	}
	doc, err := expr.Canonical(v)
	if err != nil {
		return nil, err
	}
	entry := &lockedEntry{}
	if err := json.Unmarshal(doc, entry); err != nil {
		var semantic *json.SemanticError
		if errors.As(err, &semantic) && semantic.JSONPointer != "" {
			return nil, fmt.Errorf("%s is a JSON %s", strings.ReplaceAll(string(semantic.JSONPointer[1:]), "/", "."), semantic.JSONKind)
		}
		return nil, errors.New("it is no object")
	}
	if entry.Source == "" && len(entry.Command) == 0 {
		return nil, errors.New("it has neither a source nor a command")
	}
	if faults := descriptionFaults(entry.info()); len(faults) > 0 {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	return entry, nil
}

var (
	hexDigest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })
	platform  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z0-9]+_[a-z0-9]+|any)$`) })
)

func (r *lockReader) digest(b *hclsyntax.Block) {
	of := dag.Pin{Platform: b.Labels[1]}
	if !platform().MatchString(of.Platform) {
		r.error(b.LabelRanges[1], badLock, fmt.Sprintf("%q is no platform, as linux_amd64 and darwin_arm64 are, and %s for scripts. %s", of.Platform, dag.AnyPlatform, relock))
		return
	}
	attrs := inOrder(b.Body.Attributes)
	if len(attrs) == 0 || len(b.Body.Blocks) > 0 {
		r.error(b.DefRange(), badLock, "The entry of a digest names its scheme and says it in hexadecimal: digest \"NAME\" \"linux_amd64\" { sha256 = \"…\" }. "+relock)
	}
	for _, attr := range attrs {
		of.Scheme = attr.Name
		key := fmt.Sprintf("digest %s %s %s", b.Labels[0], of.Platform, of.Scheme)
		if !r.first(key, b, fmt.Sprintf("The digest of the plugin %q stands here twice for %s, as after a merge of two branches that both changed it. Remove both lines, and let\n    penstock plugin lock\nwrite the one of the plugin that is here.", b.Labels[0], of.Platform)) {
			continue
		}
		text, ok := plainText(attr.Expr)
		switch {
		case !ok:
			r.error(attr.Expr.Range(), badLock, "A digest is a text. "+relock)
			continue
		case !dag.KnownScheme(of.Scheme):
			r.newer(attr.NameRange, fmt.Sprintf("the scheme %q of digests", of.Scheme))
		case !hexDigest().MatchString(text):
			r.error(attr.Expr.Range(), badLock, fmt.Sprintf("A digest of the scheme %s has 64 digits from 0 to 9 and a to f. %s", of.Scheme, relock))
			continue
		}
		of.Digest = text
		r.pins = append(r.pins, pinned{b.Labels[0], of, b.DefRange()})
	}
}

// settle gives the digests to their plugins and sorts what was read: the order
// of lines says nothing.
func (r *lockReader) settle() {
	for _, p := range r.pins {
		k := r.lock.Plugin(p.plugin)
		if k == nil {
			r.diags = append(r.diags, diag.Warning(p.at, strayDigest, fmt.Sprintf("No line says what the plugin %q is, so its digest pins nothing. `penstock plugin lock` removes it.", p.plugin)))
			continue
		}
		k.Pins = append(k.Pins, p.pin)
	}
	sortLock(r.lock)
}

func sortLock(lock *dag.Lock) {
	slices.SortFunc(lock.Plugins, func(a, b dag.LockedPlugin) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(lock.Codes, func(a, b dag.LockedCode) int { return strings.Compare(string(a.Code), string(b.Code)) })
	for i := range lock.Plugins {
		slices.SortFunc(lock.Plugins[i].Pins, func(a, b dag.Pin) int {
			return strings.Compare(a.Platform+" "+a.Scheme, b.Platform+" "+b.Scheme)
		})
	}
}

func posOf(r hcl.Range) dag.Pos {
	return dag.Pos{File: r.Filename, Line: r.Start.Line, Column: r.Start.Column}
}

// readLock reads the pipeline's lock, if it has one. It reports whether the
// pipeline can be looked at: with a lock that cannot be read nobody knows which
// plugins may be started.
func (l *loader) readLock(main string) bool {
	name := LockFile(main)
	src, err := readBounded(l.fsys, name, maxFile+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true
	case err != nil:
		l.fileError(name, err)
		return false
	}
	l.files.Lock = bytes.Clone(src)
	l.files.lockName = name
	lock, diags := ReadLock(name, src)
	l.diags = append(l.diags, diags...)
	l.graph.Lock = lock
	return lock != nil
}

// checkLock compares the declared codes, and the plugins as they are here, with
// the lock.
func (l *loader) checkLock() {
	lock := l.graph.Lock
	if lock == nil {
		return
	}
	for _, k := range lock.Vanished(l.graph) {
		if !slices.Contains(l.opts.Retire, k.Code) && !l.broken {
			l.error(l.lockRange(k.Pos), codeVanished, l.vanished(k.Code))
		}
	}
	for _, f := range l.graph.Codes {
		if k := lock.Code(f.Code); k != nil && k.Retired && !f.Retired {
			l.warn(l.ranges[f.Pos], retiredCode, fmt.Sprintf("The lock says that the code %s is retired, and those who match on it know it by its old meaning. If it means the same,\n    penstock plugin lock\ntakes it into use again; else choose another code.", f.Code))
		}
	}
	if l.opts.Pin == nil {
		return
	}
	for _, p := range l.graph.Plugins {
		if p.Bundled() {
			continue
		}
		pin, err := l.opts.Pin(p)
		if err != nil {
			continue // it is not here; what is locked of it is enough to check the pipeline
		}
		if s := lock.State(p, pin); s.Word == dag.LockDiffers {
			l.warn(l.ranges[p.Pos], pluginDiffers, fmt.Sprintf("%s. plan and run will refuse it. If it is the one that is meant, accept it with\n    penstock plugin lock", upper(s.String())))
		}
	}
}

// vanished is what to do about a code that is missing.
func (l *loader) vanished(code dag.Code) string {
	var declared []string
	for _, f := range l.graph.Codes {
		if l.graph.Lock.Code(f.Code) == nil {
			declared = append(declared, string(f.Code))
		}
	}
	renamed := ""
	if near := diag.Nearest(string(code), declared); len(near) > 0 {
		renamed = fmt.Sprintf("Was it renamed to %s? ", near[0])
	}
	return fmt.Sprintf("The pipeline does not declare the code %s any more, and others match on it. %sDeclare it as before, or, where nothing gives it any more, with\n    failure \"%s\" {\n      meaning = …\n      retired = true\n    }\nTo give it up,\n    penstock plugin lock --retire %s", code, renamed, code, code)
}

// lockRange is the line of an entry.
func (l *loader) lockRange(at dag.Pos) hcl.Range {
	start := hcl.Pos{Line: at.Line, Column: at.Column}
	for range at.Line - 1 {
		start.Byte += bytes.IndexByte(l.files.Lock[start.Byte:], '\n') + 1
	}
	end := start
	if line, _, _ := bytes.Cut(l.files.Lock[start.Byte:], []byte("\n")); len(line) > 0 {
		end.Column += len(bytes.TrimRight(line, " {}"))
		end.Byte += len(bytes.TrimRight(line, " {}"))
	}
	return hcl.Range{Filename: at.File, Start: start, End: end}
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// described is what the lock knows of a plugin, nil where it has to be asked.
func (l *loader) lockedInfo(p *dag.Plugin) *dag.PluginInfo {
	k := l.graph.Lock.Plugin(p.Name)
	if l.opts.Relock || k == nil || !k.Names(p) {
		return nil
	}
	return k.Info
}

// lockedEntry is what a lock holds of a plugin, in its own words.
type lockedEntry struct {
	Source        string         `json:"source,omitempty"`
	Command       []string       `json:"command,omitempty"`
	Name          string         `json:"name"`
	Version       string         `json:"version,omitempty"`
	Kind          string         `json:"kind"`
	Behaviour     string         `json:"behaviour,omitempty"`
	WireVersion   string         `json:"wire_version,omitempty"`
	Deterministic bool           `json:"deterministic,omitzero"`
	Batches       bool           `json:"batches,omitzero"`
	Services      []string       `json:"services,omitempty"`
	Outcomes      []string       `json:"outcomes,omitempty"`
	Codes         []dag.Code     `json:"codes,omitempty"`
	Config        []lockedField  `json:"config,omitempty"`
	Unknown       jsontext.Value `json:",embed"` // what a newer version wrote
}

type lockedField struct {
	Name      string        `json:"name"`
	Type      string        `json:"type,omitempty"`
	Required  bool          `json:"required,omitzero"`
	Default   string        `json:"default,omitempty"`
	Doc       string        `json:"doc,omitempty"`
	Sensitive bool          `json:"sensitive,omitzero"`
	Content   bool          `json:"content,omitzero"`
	Unkeyed   bool          `json:"unkeyed,omitzero"`
	Block     []lockedField `json:"block,omitzero"` // not nil: a nested block
}

func (e *lockedEntry) info() *dag.PluginInfo {
	return &dag.PluginInfo{
		Name: e.Name, Version: e.Version, Kind: e.Kind, Behaviour: e.Behaviour, WireVersion: e.WireVersion, Deterministic: e.Deterministic,
		Batches: e.Batches, Services: e.Services, Outcomes: e.Outcomes, Codes: e.Codes, Config: dagFields(e.Config),
	}
}

func dagFields(fields []lockedField) []dag.ConfigField {
	if fields == nil {
		return nil
	}
	out := make([]dag.ConfigField, len(fields))
	for i, f := range fields {
		out[i] = dag.ConfigField{Name: f.Name, Type: f.Type, Required: f.Required, Default: f.Default, Doc: f.Doc, Sensitive: f.Sensitive, Content: f.Content, Unkeyed: f.Unkeyed, Block: dagFields(f.Block)}
	}
	return out
}

func entryOf(k *dag.LockedPlugin) *lockedEntry {
	i := k.Info
	return &lockedEntry{
		Source: k.Source, Command: k.Command, Name: i.Name, Version: i.Version, Kind: i.Kind, Behaviour: i.Behaviour, WireVersion: i.WireVersion,
		Deterministic: i.Deterministic, Batches: i.Batches, Services: i.Services, Outcomes: i.Outcomes, Codes: i.Codes,
		Config: lockedFields(i.Config), Unknown: k.Unknown.Members,
	}
}

func lockedFields(fields []dag.ConfigField) []lockedField {
	if fields == nil {
		return nil
	}
	out := make([]lockedField, len(fields))
	for i, f := range fields {
		out[i] = lockedField{Name: f.Name, Type: f.Type, Required: f.Required, Default: f.Default, Doc: f.Doc, Sensitive: f.Sensitive, Content: f.Content, Unkeyed: f.Unkeyed, Block: lockedFields(f.Block)}
	}
	return out
}
