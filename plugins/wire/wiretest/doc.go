// Package wiretest holds what every provider over HTTP is tested with: a server
// that speaks the wires of OpenAI (both), Anthropic, Gemini and Ollama, and does
// on each of them all that a server may do wrong, and the suite that a provider
// must pass against it.
//
// Tests call Conform with a Wire, or Serve with a script of their own.
//
// It refuses to be a model: it answers what its script says, whatever is asked.
package wiretest
