package dag

import "strings"

// bare are the characters that no shell reads a meaning into, at any place of a word.
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,"

// Command writes a command line that can be copied into a shell, as a hint does: a
// word stands between single quotes where the shell would read it otherwise.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.Trim(word, bare) != "" {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
