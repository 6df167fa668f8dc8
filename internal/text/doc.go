// Package text holds the functions on texts that decide whether two of them are
// the same: one normal form, the distance, the token sets and the whole-token
// searches that stand on it.
//
// It is called by the checks of the gate, by the functions of the language and
// by bundled plugins, so that a rule gives the same answer wherever it is asked.
//
// It refuses to work on bytes and to round: distances count runes, similarities
// are two integers, and nothing here knows a locale.
package text

// Version names the rules of this package. A key that was made with another
// version is not comparable: whoever stores keys stores this beside them.
const Version = 1
