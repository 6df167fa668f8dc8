// Package sdk is how a plugin of Penstock is written in Go: a stage is one
// function and one call to Serve, a provider is one function and one call to
// ServeProvider.
//
// Authors of plugins call it from their main, and so do the bundled plugins;
// it hides the stream that carries many visits at once, the handshake, the
// logger and the end of the process when its host is gone.
//
// It refuses to be more than the protocol: it opens no connection, reads no
// file, retries nothing and swallows no panic (a panic in an author's function
// is a crash of the process, with its trace on stderr where the host finds it).
package sdk
