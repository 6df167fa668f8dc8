// Package telemetry tells an OpenTelemetry collector of a run: a trace of it,
// its items, their visits and the completions that those ask for, and figures.
//
// cmd/penstock reads the usual variables with FromEnvironment and hands what it
// gets to internal/engine, which tells it what happens. Without such a variable
// that is nil, and every method of a nil pointer of this package does nothing.
//
// It refuses to send content: no prompt, no answer, no document of an item, no
// evidence and no text of an error, but names, numbers and codes. It refuses to
// hold a run up: what the collector does not take in time is counted, dropped and
// told once.
package telemetry
