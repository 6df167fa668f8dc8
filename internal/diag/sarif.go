package diag

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/hcl/v2"
)

// Tool is the program that found something, as SARIF names it.
type Tool struct {
	Name, Version string
	Command       string // "penstock validate"
	Exit          int    // its exit status
	Failure       string // what ended it before it had looked at everything; empty: nothing
}

// sarifSchema names the shape of a SARIF log; nobody fetches it.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// SARIF prints diagnostics as a log of SARIF 2.1.0, for code scanning and editors.
// Columns count Unicode code points, as its columnKind says.
func SARIF(w io.Writer, diags hcl.Diagnostics, site Site, tool Tool) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: tool.Name, SemanticVersion: tool.Version, Rules: []sarifRule{}}
	call := sarifInvocation{CommandLine: tool.Command, ExitCode: tool.Exit, Successful: tool.Failure == ""}
	if tool.Failure != "" {
		call.Notifications = []sarifNotification{{Level: "error", Message: sarifText{tool.Failure}}}
	}
	run.Invocations = []sarifInvocation{call}
	rules, seen := map[string]int{}, map[string]int{}
	for _, d := range Shown(diags) {
		rule := sarifRuleOf(d)
		at, known := rules[rule.ID]
		if !known {
			at = len(run.Tool.Driver.Rules)
			rules[rule.ID] = at
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
		}
		result := site.result(d)
		result.RuleID, result.RuleIndex = rule.ID, at
		print := site.fingerprint(d, rule.ID)
		seen[print]++
		result.Fingerprints = map[string]string{fingerprintName: fmt.Sprintf("%s:%d", print, seen[print])}
		run.Results = append(run.Results, result)
	}
	log := sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}}
	if err := json.MarshalWrite(w, log, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func sarifRuleOf(d *hcl.Diagnostic) sarifRule {
	rule := sarifRule{ID: ruleID(d.Summary), Short: sarifText{valid(d.Summary)}}
	rule.Default.Level = sarifLevel(d)
	rule.Help.Text = "Each message says what is wrong, why it is wrong there, and what to write instead. docs/language.md has the rules of the language."
	return rule
}

func sarifLevel(d *hcl.Diagnostic) string {
	if d.Severity == hcl.DiagWarning {
		return "warning"
	}
	return "error"
}

// ruleID is a summary as the name of a rule: "Unknown stage" is unknown-stage.
// Summaries are constant words, so ids are stable.
func ruleID(summary string) string {
	words := strings.FieldsFunc(strings.ToLower(valid(summary)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "-")
}

func (s Site) result(d *hcl.Diagnostic) sarifResult {
	result := sarifResult{Level: sarifLevel(d), Message: sarifText{Clean(d.Detail)}}
	if d.Detail == "" {
		result.Message.Text = Clean(d.Summary)
	}
	info := InfoOf(d)
	if d.Subject != nil {
		at := s.location(*d.Subject)
		if info.Address != "" {
			at.Logical = []sarifLogical{{valid(info.Address)}}
		}
		result.Locations = []sarifLocation{at}
	}
	for i, r := range info.Related {
		at := s.location(r.Range)
		at.ID, at.Message = i+1, &sarifText{Clean(r.Label)}
		result.Related = append(result.Related, at)
	}
	return result
}

func (s Site) location(r hcl.Range) sarifLocation {
	at := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{URI: (&url.URL{Path: s.path(r.Filename)}).String(), Base: "%SRCROOT%"}}}
	if strings.HasPrefix(at.Physical.Artifact.URI, "/") {
		at.Physical.Artifact = sarifArtifact{URI: "file://" + at.Physical.Artifact.URI}
	}
	if g, ok := s.region(r); ok {
		at.Physical.Region = &sarifRegion{g.startLine, g.startColumn, g.endLine, g.endColumn, nil}
		if line, ok := s.line(r.Filename, r.Start.Line); ok && g.endLine == g.startLine {
			marked := []rune(line)[min(g.startColumn-1, len([]rune(line))):min(g.endColumn-1, len([]rune(line)))]
			if len(marked) > 0 {
				at.Physical.Region.Snippet = &sarifText{string(marked)}
			}
		}
	}
	return at
}

// fingerprintName is the one that code scanning reads.
const fingerprintName = "primaryLocationLineHash"

// fingerprint stays when lines are added above: it is of the rule, the file, the
// block and the text of the line.
func (s Site) fingerprint(d *hcl.Diagnostic, rule string) string {
	parts := []string{rule, valid(InfoOf(d).Address), "", ""}
	if d.Subject != nil {
		parts[2] = s.path(d.Subject.Filename)
		line, _ := s.line(d.Subject.Filename, d.Subject.Start.Line)
		parts[3] = strings.Join(strings.Fields(line), " ")
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// The part of SARIF 2.1.0 that is written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
	}
	sarifDriver struct {
		Name            string      `json:"name"`
		SemanticVersion string      `json:"semanticVersion"`
		Rules           []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string    `json:"id"`
		Short   sarifText `json:"shortDescription"`
		Help    sarifText `json:"help"`
		Default struct {
			Level string `json:"level"`
		} `json:"defaultConfiguration"`
	}
	sarifInvocation struct {
		CommandLine   string              `json:"commandLine"`
		ExitCode      int                 `json:"exitCode"`
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations,omitempty"`
		Related      []sarifLocation   `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		ID       int            `json:"id,omitzero"`
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifText     `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int        `json:"startLine"`
		StartColumn int        `json:"startColumn"`
		EndLine     int        `json:"endLine"`
		EndColumn   int        `json:"endColumn"`
		Snippet     *sarifText `json:"snippet,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
)
