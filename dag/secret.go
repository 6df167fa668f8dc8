package dag

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ShortestSecret is the length in bytes below which nothing but a whole secret is one:
// a part like "Bearer", or a key like "none", stands in texts that mean the word.
const ShortestSecret = 8

// SecretForms are the texts that give a secret away: each whole value, and, where they
// are not shorter than ShortestSecret, the words of one of several, such as the key
// alone of a header's "Bearer KEY", and how both are written within JSON. The longest
// come first, since one may be part of another.
func SecretForms(secrets map[string]string) []string {
	var forms []string
	add := func(form string, least int) {
		if len(form) >= least && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	for _, secret := range secrets {
		add(secret, 1)
		for _, form := range append(strings.Fields(secret), secret) {
			add(form, ShortestSecret)
			if b, err := jsontext.AppendQuote(nil, form); err == nil {
				quoted := string(b[1 : len(b)-1])
				add(quoted, ShortestSecret)
				add(withinHTML.Replace(quoted), ShortestSecret)
			}
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return forms
}

// withinHTML is how some write a JSON string that may come to stand in a page.
var withinHTML = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)
