// Package outside holds tests against servers and clients that are not ours: a
// mock that others wrote for the same wires, a proxy that breaks connections, a
// server that runs models. They are a module of their own, so that what they need
// is no dependency of Penstock.
//
// .ci/run runs those that are quick, with what it has installed; the Makefile has
// a target for each of the others.
//
// They skip nothing: where what they need is not there, they fail and say what to
// set. No package of Penstock imports them.
package outside
