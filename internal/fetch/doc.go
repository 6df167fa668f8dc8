// Package fetch reads pages of the web for the gate: whether an address is live,
// and what stands there.
//
// The engine, or the gate where nobody gives it one, makes one Client for a run;
// all that the program reads from the web goes through it.
//
// It refuses every address that is not public, whatever a name resolves to and
// wherever an answer leads, unless its host is allowed by name. It runs no scripts,
// keeps no cookies, uses no proxy and reads 64 KiB at most: what a page shows only
// to others, or only further down, is not there.
//
// One read goes through the files in this order: client.go (attempts), cache.go
// (what was read already), pace.go (whose turn it is), address.go (whether it may
// be asked), connect.go, attempt.go (redirects), body.go, verdict.go (what it comes
// to), with wall.go and notfound.go for pages that are none, and text.go.
package fetch
