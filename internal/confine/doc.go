// Package confine turns a process into a plugin's: rules that it cannot take off
// again, then the plugin's program.
//
// internal/host starts this very binary with the words of Arguments; the rest
// happens in the initialisation of this package, before main.
//
// It refuses to go on where a rule that the kernel knows cannot be set. It
// imports nothing that is large, of ours or of others: Go initialises a package
// as soon as what it imports is ready, so that a plugin's start does not wait for
// all that the rest of the binary prepares, which takes longer than the kernel
// takes for everything else.
package confine
