// Package aimock holds the tests against aimock, a mock server that speaks the
// wires of OpenAI (both), Anthropic, Gemini and Ollama as its authors read them:
// a second opinion on what wiretest and the providers agree about.
//
// PENSTOCK_AIMOCK names its command, llmock.
package aimock
