package lang

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
)

// lockHead stands at the top of every lock file.
const lockHead = `# Written by "penstock plugin lock". Commit it.
# One line an entry, sorted, so that branches merge.

`

// FormatLock writes a lock as a file: the same lock has the same bytes, an
// entry stays on one line, and no line depends on another, so that what one
// branch adds touches nothing that another branch adds. (Attributes under one
// another would: their equals signs are aligned.)
func FormatLock(lock *dag.Lock) ([]byte, error) {
	var lines []string
	for _, k := range lock.Codes {
		attrs := maps.Clone(k.Unknown.Attributes)
		if k.Retired {
			attrs = with(attrs, "retired", "true")
		}
		lines = append(lines, entry("failure "+hclText(string(k.Code)), attrs))
	}
	for i := range lock.Plugins {
		k := &lock.Plugins[i]
		locked, err := lockedText(k)
		if err != nil {
			return nil, err
		}
		lines = append(lines, entry("plugin "+hclText(k.Name), with(maps.Clone(k.Unknown.Attributes), "locked", locked)))
		for _, pin := range k.Pins {
			lines = append(lines, entry("digest "+hclText(k.Name)+" "+hclText(pin.Platform), map[string]string{pin.Scheme: hclText(pin.Digest)}))
		}
	}
	for _, text := range lock.Unknown {
		lines = append(lines, string(hclwrite.Format([]byte(text)))) // the layout decides where it is sorted to
	}
	slices.Sort(lines)
	return hclwrite.Format([]byte(lockHead + strings.Join(lines, "\n") + "\n")), nil
}

func with(attrs map[string]string, name, text string) map[string]string {
	if attrs == nil {
		attrs = map[string]string{}
	}
	attrs[name] = text
	return attrs
}

// entry is a block on one line, which HCL allows with one attribute at most.
func entry(head string, attrs map[string]string) string {
	switch len(attrs) {
	case 0:
		return head + " {}"
	case 1:
		for name, text := range attrs {
			return head + " { " + name + " = " + text + " }"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		head += fmt.Sprintf("\n%s = %s", name, attrs[name])
	}
	return strings.Replace(head, "\n", " {\n", 1) + "\n}"
}

func hclText(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

// lockedText is what is locked of a plugin as an expression on one line.
func lockedText(k *dag.LockedPlugin) (string, error) {
	doc, err := json.Marshal(entryOf(k), json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("plugin %q: %w", k.Name, err)
	}
	return expression(jsontext.NewDecoder(bytes.NewReader(doc)))
}

// expression writes the next value of a JSON text in HCL's words.
func expression(dec *jsontext.Decoder) (string, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return "", err
	}
	switch token.Kind() {
	case '"':
		return hclText(token.String()), nil
	case '[', '{':
		return elements(dec, token.Kind())
	}
	return token.String(), nil
}

func elements(dec *jsontext.Decoder, kind jsontext.Kind) (string, error) {
	var parts []string
	for dec.PeekKind() != kind+2 { // the closing bracket stands two behind the opening
		text, err := expression(dec)
		if err != nil {
			return "", err
		}
		if kind == '{' {
			value, err := expression(dec)
			if err != nil {
				return "", err
			}
			if name := text[1 : len(text)-1]; hclsyntax.ValidIdentifier(name) {
				text = name
			}
			text += " = " + value
		}
		parts = append(parts, text)
	}
	if _, err := dec.ReadToken(); err != nil {
		return "", err
	}
	text := strings.Join(parts, ", ")
	if kind == '[' {
		return "[" + text + "]", nil
	}
	return "{ " + text + " }", nil
}
