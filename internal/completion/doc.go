// Package completion is the host's completion service: it answers what stages
// ask of their providers, from a cassette, from the cache, or by a live call
// with limits, retries and the run's budget. The pages that a gate reads are
// recorded in the same cassettes, and answered from them.
//
// internal/engine makes one Service a run and hands its Complete to the plugin
// host and its Pages to the gate; what writes cassettes does so with Cassette.
//
// It refuses to call anyone while it replays (a request or a page that is not
// recorded is an error that shows the nearest recorded one), to retry what is not one of
// the four errors that pass, to spend over the budget, to keep an answer that
// was cut off, and to write a secret anywhere.
package completion
