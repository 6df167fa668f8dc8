// Package host runs plugins as processes: it starts them from the very file
// that it hashed, confines them, sends them visits over one long stream each,
// and sees to it that nothing of them is left behind.
//
// internal/engine calls it for every visit and every completion, internal/lang
// (through cmd) for what a plugin says of itself. On Linux a plugin's process
// begins as the program itself, executed once more: see internal/confine.
//
// It refuses to trust a plugin: not with the environment, not with the disk,
// not to answer, to end, or to keep the protocol. Whatever a plugin does, each
// task that was submitted ends in exactly one Result, and it decides nothing
// else: retries, caches, limits and routes are its caller's.
package host
