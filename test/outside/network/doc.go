// Package network holds the tests of the providers on a network that is slow,
// cuts what it carries anywhere, or breaks: toxiproxy stands between each of them
// and the fake server of plugins/wire/wiretest.
package network
