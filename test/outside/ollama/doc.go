// Package ollama holds the tests against a real Ollama. Models of a few hundred
// kilobytes, made by the tests, take the place of ones that were trained: what is
// tested is the server and how it ends, cuts and refuses.
//
// PENSTOCK_OLLAMA names the server's binary; make test-ollama builds one.
package ollama
