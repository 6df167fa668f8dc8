// Package dag holds the nouns of Penstock, the graph that a pipeline declares,
// the proofs about it, and the traversal that steps one item through it.
//
// It is called by everything above it: internal/lang builds a Graph, the gate
// reads its part of one, internal/engine drives items through it.
//
// It refuses to know the world: no I/O, no clock, no goroutine, no HCL and no
// gRPC. Documents come in as bytes with their digest, expressions are an
// interface that internal/lang implements. So the same code decides on a
// laptop, in a dry run, in a test and inside a distributed engine.
package dag
