// Package oracle holds the providers against the clients that the vendors publish:
// both ask the same fake server the same, and both read the same answers. Where
// they differ is written down here, with the reason.
//
// It is a module of its own, so that those clients are no dependency of Penstock.
package oracle
