package main

import (
	"reflect"

	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/draw"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/report"
	"github.com/penstock-run/penstock/internal/ui"
)

// document is a shape of JSON that the program prints or writes, with a schema in
// docs/schemas. A verb that takes --json stands here, or tests fail: name the type
// that it prints, add a line, and go test ./cmd/penstock -run Schemas -update.
type document struct {
	name    string // of the schema
	command string // that prints it, as its help names it; empty: every one
	when    string // it does; empty: always
	version int
	shape   any
}

var documents = []document{
	{"error", "", "what ends any command", 1, ui.ErrorDocument{}},
	{"init", "init", "", 1, initDocument{}},
	{"fmt", "fmt", "", 1, fmtDocument{}},
	{"validate", "validate", "and every other command that reads the pipeline, where it is wrong", diag.ReportVersion, diag.Report{}},
	{"test", "test", "", 1, testsDocument{}},
	{"plan", "plan", "", 2, planDocument{}},
	{"plan-file", "plan", "the file of `-o`", 1, engine.PlanFile{}},
	{"run", "run", "", 1, runDocument{}},
	{"status", "status", "", 1, statusDocument{}},
	{"show", "show", "of an item", 1, showDocument{}},
	{"show-stage", "show", "with `--stage`", 1, showCompletionsDocument{}},
	{"why-item", "why", "of an item", 1, whyItemDocument{}},
	{"why-visit", "why", "of `STAGE[ITEM]`", 1, whyVisitDocument{}},
	{"why-not-run", "why", "with `--not-run`, or where the stage did not visit the item", 1, whyNotRunDocument{}},
	{"logs", "logs", "of `STAGE[ITEM]`", 1, logsDocument{}},
	{"logs-plugin", "logs", "with `--plugin`", 1, logsPluginDocument{}},
	{"report", "report", "", 1, report.Document{}},
	{"diff", "diff", "", 1, compared{}},
	{"graph", "graph", "", 1, draw.Picture{}},
	{"check", "check", "with a KIND", 1, checkDocument{}},
	{"check-kinds", "check", "without a KIND", 1, checkKindsDocument{}},
	{"audit", "audit", "", 1, auditDocument{}},
	{"breaker-list", "breaker list", "", 1, breakerListDocument{}},
	{"breaker-reset", "breaker reset", "", 1, breakerResetDocument{}},
	{"gc", "gc", "", 1, gcDocument{}},
	{"plugin-list", "plugin list", "", 1, pluginListDocument{}},
	{"plugin-lock", "plugin lock", "", 1, pluginLockDocument{}},
	{"functions", "functions", "without a NAME", 1, functionsDocument{}},
	{"functions-name", "functions", "with a NAME", 1, functionDocument{}},
	{"codes", "codes", "", 1, codesDocument{}},
	{"explain", "explain", "", 1, explainDocument{}},
	{"version", "version", "", 1, versionDocument{}},
}

// withoutDocument are commands that print no JSON of a shape of ours.
var withoutDocument = []string{"completion", "help", "man", "plugin", "plugin serve", "breaker"}

// foreignShapes are types that are written as something else than their fields.
var foreignShapes = map[string]schemaObject{
	"dag.Digest":     {"type": "string", "pattern": "^([0-9a-f]{64})?$"},
	"time.Time":      {"type": "string", "format": "date-time"},
	"jsontext.Value": {"description": "any JSON"},
	"dag.Seen": {"type": "object", "required": []string{"path", "json"}, "properties": schemaObject{
		"path": schemaObject{"type": "string", "description": "the path as it was written, such as item.cat"},
		"json": schemaObject{"type": "string", "description": "the value there as a JSON text; null where it was absent, cut at 256 bytes"},
	}},
}

// shapeOf is the type of a document.
func (d document) shapeOf() reflect.Type { return reflect.TypeOf(d.shape) }
