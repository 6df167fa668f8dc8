// Package exec is the bundled stage that runs a command: the visit's input as
// JSON on its standard input, the output as JSON on its standard output, the
// outcome by its exit status.
//
// plugins/bundled serves it; a pipeline names it as builtin/exec and gives the
// command, and the files whose content decides what the command does.
//
// It refuses output that is not one strict JSON document, a status that `exits`
// does not list, more output than a document may have, and to leave a process
// behind: the command has a process group of its own, which ends with it.
package exec
