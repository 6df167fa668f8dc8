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
// object without json: a prompt never has a hole in it that nobody sees. No
// function tells the time, the environment or a random number.
//
// # Data
//
// With data = true the template and the system text read nothing of the input. It
// comes behind the template, in a part of its own:
//
//	<data>
//	{"q":"Who wrote \u003cb>Faust\u003c/b>?"}
//	</data>
//
// and the system text ends with fixed words that what stands there is data. In the
// texts of the document "<", "[" and signs that cannot be seen are JSON escapes, and
// line breaks are anyway: nothing in it can end the frame, or look like a turn of a
// chat to a server's template. What is wrong with an answer is told in such a frame,
// too, since a complaint quotes the answer.
//
// # Examples
//
// Files with {"input": …, "output": …} give turns of the user and the model before
// the item's own: the input as the item's would be, the output in canonical form. An
// output that does not fit the stage's schema is refused with file and line.
package prompt
