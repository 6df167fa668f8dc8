package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/internal/staging"
)

// pluginLog passes on what a plugin said on its standard error.
func (e *engine) pluginLog(plugin, level, message string) {
	switch level {
	case "warn", "error":
		e.Report.Warn(fmt.Sprintf("plugin %s: %s", plugin, message))
	}
}

// pluginSaid keeps what a plugin said, without the secrets that it was given.
func (e *engine) pluginSaid(said host.Said) {
	line := &staging.LogLine{At: e.Now().UTC(), Plugin: said.Plugin, Level: said.Level, Text: e.withoutSecrets(said.Message)}
	if t := said.Task; t != nil {
		line.Stage, line.Item, line.Pass, line.Attempt, line.Action = t.Stage.Name, t.Key, t.Pass, t.Attempt, t.Action
	}
	e.said.Add(line)
}

// withoutSecrets blots out what only a provider may know: it may print its own key.
func (e *engine) withoutSecrets(text string) string {
	for _, p := range e.Graph.Providers {
		for path, secret := range p.Secrets {
			for _, form := range dag.SecretForms(map[string]string{path: secret}) {
				text = strings.ReplaceAll(text, form, "("+path+" of provider "+p.Name+")")
			}
		}
	}
	return text
}

// VisitLog is what was said and noted in a visit.
type VisitLog struct {
	Stage   string            `json:"stage"`
	Item    string            `json:"item"`
	Pass    int               `json:"pass"`
	State   VisitState        `json:"state"`
	Run     string            `json:"run,omitempty"` // that made it
	Notes   []string          `json:"notes,omitempty"`
	Message string            `json:"message,omitempty"`
	File    string            `json:"file,omitempty"` // where the lines are kept, from the pipeline's directory
	Lines   []staging.LogLine `json:"lines,omitempty"`
}

// Logs are what the stage's plugin said in its visits of an item: of those on the
// item's trail, whichever run and item they were made for, and of those of the latest
// run that came to no trail.
func Logs(store *staging.Store, dir, stage, key string) ([]VisitLog, error) {
	visits, err := WhyVisit(store, dir, stage, key)
	if err != nil {
		return nil, err
	}
	logs := make([]VisitLog, 0, len(visits))
	var known []dag.Digest
	for _, v := range visits {
		log := VisitLog{Stage: v.Stage, Item: v.Item, Pass: v.Pass, State: v.State, Run: v.Run, Notes: v.Notes, Message: v.Message}
		known = append(known, v.Action)
		for _, run := range runsWith(store, v.Run) {
			if v.Action.IsZero() || log.Lines != nil {
				break
			}
			if log.Lines, err = linesOf(store, run, v.Action); err != nil {
				return nil, err
			}
			if log.Lines != nil {
				log.File, log.Run = staging.LogFile(run), run
			}
		}
		logs = append(logs, log)
	}
	lost, err := untrailed(store, stage, key, known)
	return append(logs, lost...), err
}

// runsWith are the runs whose logs are looked into: the one that made a visit, where
// that is known.
func runsWith(store *staging.Store, run string) []string {
	if run != "" {
		return []string{run}
	}
	return store.LoggedRuns()
}

func linesOf(store *staging.Store, run string, action dag.Digest) (lines []staging.LogLine, err error) {
	err = store.ReadRunLog(run, action.String(), func(l *staging.LogLine) {
		if l.Action == action {
			lines = append(lines, *l)
		}
	})
	return lines, err
}

// untrailed are executions of the stage for an item in the latest run that logged
// any, which are not among the known.
func untrailed(store *staging.Store, stage, key string, known []dag.Digest) ([]VisitLog, error) {
	name, err := json.Marshal(key)
	if err != nil {
		return nil, nil // no item has such a key
	}
	for _, run := range store.LoggedRuns() {
		var logs []VisitLog
		at := map[dag.Digest]int{}
		err := store.ReadRunLog(run, string(name), func(l *staging.LogLine) {
			if l.Stage != stage || l.Item != key || slices.Contains(known, l.Action) {
				return
			}
			i, ok := at[l.Action]
			if !ok {
				i = len(logs)
				at[l.Action] = i
				logs = append(logs, VisitLog{Stage: stage, Item: key, Pass: l.Pass, State: VisitUnfinished, Run: run, File: staging.LogFile(run)})
			}
			logs[i].Lines = append(logs[i].Lines, *l)
		})
		if err != nil || logs != nil {
			return logs, err
		}
		if len(known) > 0 {
			return nil, nil // what older runs tried has been done since
		}
	}
	return nil, nil
}

// PluginLines are what a plugin's processes said in a run, of no visit that is known;
// without a run in the latest that has such a line.
func PluginLines(store *staging.Store, plugin, run string) (of string, lines []staging.LogLine, err error) {
	name, err := json.Marshal(plugin)
	if err != nil {
		return run, nil, nil // no plugin has such a name
	}
	for _, of := range runsWith(store, run) {
		err := store.ReadRunLog(of, string(name), func(l *staging.LogLine) {
			if l.Plugin == plugin && l.Stage == "" {
				lines = append(lines, *l)
			}
		})
		if err != nil || lines != nil {
			return of, lines, err
		}
	}
	return run, nil, nil
}
