// Package echo is the bundled provider that needs no network: it answers an
// instance of the asked schema, drawn from the request's hash, so that the same
// request always gets the same answer and another one another. Without a schema
// it answers the last message. Usage is counted in words.
//
// plugins/bundled serves it; pipelines name it as builtin/echo in tests and
// benchmarks, and to try routes before a model is paid.
//
// It refuses a schema of which it finds no instance: an answer that does not
// validate is never given.
package echo
