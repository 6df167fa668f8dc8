package wire

import "regexp"

// Size is how much a model takes and gives, in tokens; 0: not known.
type Size struct {
	Context int64 // prompt and answer together
	Answer  int64 // thoughts among it
}

var dated = regexp.MustCompile(`^(.+)-\d{4}-?\d{2}-?\d{2}$`)

// SizeOf looks a model up by its name, with or without the date of its release. Of a
// name that is only like one that is known nothing is known.
func SizeOf(known map[string]Size, model string) Size {
	if size, ok := known[model]; ok {
		return size
	}
	if m := dated.FindStringSubmatch(model); m != nil {
		return known[m[1]]
	}
	return Size{}
}
