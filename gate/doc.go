// Package gate is the end of a pipeline: it judges candidates by the checks that
// a gate block declares, and it alone writes the corpus.
//
// The engine calls it for every item that ends, and a Go program may use it
// without the engine: Open a corpus, Evaluate candidates (many at once, no lock
// held), Commit what was evaluated in the order that is to stand in the corpus.
//
// It fails closed: a missing value, a number that is none, a word that nobody
// declared, a check that could not run are never an accept, and what goes wrong
// outside of a candidate is an error that counts for nothing. It refuses a corpus
// that something else has changed, and never guesses how to mend one.
package gate
