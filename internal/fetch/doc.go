// Package fetch reads pages of the web for the gate: whether an address is live,
// and what stands there.
//
// The engine, or the gate where nobody gives it one, makes one Client for a run;
// all that the program reads from the web goes through it.
//
// It refuses every address that is not public, whatever a name resolves to and
// wherever an answer leads, unless its host is allowed by name.
package fetch
