package gate

import (
	"bytes"
	"unicode/utf8"
)

// What most checks read are texts that spell themselves, and lists of them. Those
// are taken from the bytes of a document in a tenth of the time that decoding takes.
// Whatever is not that, an escape or a null or a mistake, is left to the decoder,
// which is the judge of what is refused.

// readPlain reads a document into a variable, if both are plain.
func readPlain(doc []byte, into any) (ok bool) {
	switch v := into.(type) {
	case *string:
		var text []byte
		if text, ok = spelled(doc); ok {
			*v = string(text)
		}
	case *[]string:
		*v, ok = plainTexts(doc)
	case *[]*string:
		var list []string
		if list, ok = plainTexts(doc); ok {
			*v = make([]*string, len(list))
			for i := range list {
				(*v)[i] = &list[i]
			}
		}
	case *[]source:
		*v, ok = plainSources(doc)
	}
	return ok
}

// spelled is what a JSON text says that says itself.
func spelled(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return nil, false
	}
	text := value[1 : len(value)-1]
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			return nil, false
		}
	}
	return text, utf8.Valid(text)
}

// eachElement is eachMember for a list.
func eachElement(list []byte, f func(value []byte) bool) (ok bool) {
	if len(list) < 2 || list[0] != '[' {
		return false
	}
	if list[1] == ']' {
		return len(list) == 2
	}
	for i := 1; i < len(list); {
		end := valueEnd(list, i)
		if end >= len(list) || end == i || !f(list[i:end]) {
			return false
		}
		if list[end] != ',' {
			return list[end] == ']' && end == len(list)-1
		}
		i = end + 1
	}
	return false
}

func plainTexts(doc []byte) (texts []string, ok bool) {
	texts = make([]string, 0, bytes.Count(doc, []byte(`",`))+1)
	ok = eachElement(doc, func(value []byte) bool {
		text, plain := spelled(value)
		if plain {
			texts = append(texts, string(text))
		}
		return plain
	})
	if !ok {
		return nil, false
	}
	return texts, true
}

// plainSources reads what a check reads of a source; the decoder is left with a source
// that has something else in those places, and with one that has a name twice.
func plainSources(doc []byte) (sources []source, ok bool) {
	sources = []source{}
	ok = eachElement(doc, func(value []byte) bool {
		s := source{}
		var seen memberScan
		for seen.object = value; ; {
			if !seen.next() {
				return false
			}
			if seen.member == nil {
				break
			}
			if !s.take(string(seen.name), seen.member[len(seen.name)+len(`"":`):]) {
				return false
			}
		}
		sources = append(sources, s)
		return true
	})
	return sources, ok
}

func (s *source) take(name string, value []byte) (ok bool) {
	var text []byte
	switch name {
	case "url":
		text, ok = spelled(value)
		s.URL = string(text)
	case "quote":
		text, ok = spelled(value)
		s.Quote = string(text)
	case "supports":
		s.Supports, ok = plainTexts(value)
	default:
		// It is not read, and must be JSON all the same.
		_, plain := spelled(value)
		ok = plain || string(value) == "null" || string(value) == "true" || string(value) == "false"
	}
	return ok
}
