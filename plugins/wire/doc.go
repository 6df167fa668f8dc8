// Package wire is what provider plugins that speak HTTP have in common: one
// attempt at a server, its answer as a stream, what its errors mean, when it
// wants to be asked again, and the schema that it is sent.
//
// The bundled providers are built on it, each with the words of its own API.
//
// It refuses to try again (the host does, with limits and a budget over all
// stages), to follow a redirect with a key in its hands, to put a key into an
// address, and to take a stream for whole that has no end mark.
package wire
