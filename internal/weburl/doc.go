// Package weburl answers two questions about the address of a page: under which
// key it is one page with another address, and to which registrable domain it
// belongs.
//
// It is called by the checks of the gate, by the functions of the language and by
// bundled plugins.
//
// It refuses, with a reason, what has no answer: an address that is not http or
// https, and for a domain also credentials, an IP address, a single label and a
// bare public suffix. It never resolves a name and never opens a connection.
package weburl
