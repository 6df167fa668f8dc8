// Package prompt is the bundled stage that asks a language model: it renders a
// template with the visit's input, asks the stage's provider, and takes the
// answer as JSON that fits the stage's output schema.
//
// plugins/bundled serves it; a pipeline names it as builtin/prompt.
//
// It refuses a template that names what the input does not have, an answer that
// was cut off (it is never mended), and more re-asks than the stage allows.
//
// # Templates
//
// A template is text with actions in double braces. The dot is the input:
//
//	{{ .origin.cat }}                     a text, a number or a bool
//	{{ json .card }}                      a document, canonical, on one line
//	{{ pretty .card }}                    the same, indented
//	{{ get . "hint.text" "none" }}        a member that may be absent, with what to say then
//	{{ if eq .diff "hard" }}…{{ else }}…{{ end }}
//	{{ range .sources }}- {{ .url }}
//	{{ end }}
//	{{ with .card }}{{ .q }}{{ end }}
//	{{ index .choices 0 }}  {{ len .choices }}
//
// Comparisons are eq, ne, lt, le, gt and ge; and, or and not combine them.
// Variables ({{ $card := .card }}), pipes ({{ .card | json }}), white space
// cut by {{- and -}}, and comments ({{/* … */}}) are those of text/template.
// To write two opening braces, write {{ "{{" }}.
//
// A name that is not there is an error, and so is printing null, a list or an
// object without json: a prompt never has a hole in it that nobody sees.
package prompt
