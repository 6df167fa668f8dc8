// Package diag shows the complaints about a pipeline file: to people as text
// with the marked line, to machines as JSON, and it knows the nearest name to
// a misspelt one.
//
// It is called by internal/lang, which makes the diagnostics, and by the
// commands, which print them; a misspelt verb or flag is answered with the
// same DidYouMean.
//
// It refuses to pass on control characters of foreign text, to print what
// failed only because something else had failed, and to colour unasked.
package diag
