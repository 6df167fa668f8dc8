// Package similar finds, among many sets of words, the one that is most similar
// to a given set, if any reaches a threshold: exactly, by the Jaccard similarity
// (words in common to words altogether), which is compared in integers.
//
// Package gate calls it for the checks "novel", one index for each text and
// threshold, and keeps its snapshot. How a text becomes words is not its business.
//
// It refuses to guess: no sketch and no rounded number decides. A snapshot that is
// not whole, or does not fit together, is refused, and the caller builds anew.
//
// # How it searches
//
// Each word has a code, and codes are in the order of rarity, so that a set is a
// sorted list of codes, the rarest word first. Two sets of n and m words that
// reach the threshold a/b have at least a*(n+m)/(a+b) words in common, hence have
// a word in common among their first n-a*n/b+1 and m-a*m/b+1 (rounded in the safe
// direction). Only those first words are looked up, in postings that are sorted by
// scope and size, because a match has between a*n/b and b*n/a words. What follows
// a shared word in both sets bounds what they can share, which leaves a few sets
// to compare word by word.
//
// The order need only be the same for all; how good it is decides about speed
// alone. So it is taken from the frequencies at one time. Words that come later
// are rarer than all known, and when there are twice as many sets it is made anew.
//
// A set of words that are all common has long postings. When so many of them were
// walked that going through all sets is cheaper, that is done, with a signature of
// 128 bits before each comparison. It leaves out nothing that could match.
package similar
