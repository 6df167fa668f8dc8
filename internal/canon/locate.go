package canon

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// locate finds the first thing that is wrong with raw. It reads token by
// token, which is slow and knows the place; only what was refused comes here.
func locate(raw []byte) *Error {
	if bytes.HasPrefix(raw, []byte("\ufeff")) {
		return place(raw, 0, "", "a byte order mark; save the file as UTF-8 without one")
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	for read := 0; ; read++ {
		if read > 0 && dec.StackDepth() == 0 {
			return trailing(raw, int(dec.InputOffset()))
		}
		token, err := dec.ReadToken()
		if err != nil {
			return syntax(raw, dec, err)
		}
		end := int(dec.InputOffset())
		switch token.Kind() {
		case '{', '[':
			if dec.StackDepth() > MaxDepth {
				return place(raw, end-1, string(dec.StackPointer()), "nested deeper than 1,000 levels")
			}
		case '0':
			text := token.String()
			if reason := numberReason([]byte(text)); reason != "" {
				return place(raw, end-len(text), string(dec.StackPointer()), reason)
			}
		}
	}
}

// trailing complains of what follows the document.
func trailing(raw []byte, end int) *Error {
	rest := bytes.TrimLeft(raw[end:], " \t\r\n")
	if len(rest) == 0 {
		return place(raw, end, "", "not one strict JSON document")
	}
	return place(raw, len(raw)-len(rest), "", "something follows the document; one document was expected")
}

// syntax turns the reader's complaint into ours.
func syntax(raw []byte, dec *jsontext.Decoder, err error) *Error {
	var s *jsontext.SyntacticError
	if !errors.As(err, &s) {
		if errors.Is(err, io.EOF) {
			return place(raw, len(raw), "", "empty; a JSON document was expected")
		}
		return place(raw, int(dec.InputOffset()), "", err.Error())
	}
	offset, pointer := int(s.ByteOffset), string(s.JSONPointer)
	switch {
	case errors.Is(s.Err, jsontext.ErrDuplicateName):
		name := s.JSONPointer.LastToken()
		return place(raw, offset, pointer, "the name "+string(Quote(nil, clip(name)))+" stands twice in one object")
	case errors.Is(s.Err, io.ErrUnexpectedEOF):
		return place(raw, len(raw), pointer, "the text ends before the document does")
	}
	if reason := commonSlip(raw[min(offset, len(raw)):]); reason != "" {
		return place(raw, offset, pointer, reason)
	}
	return place(raw, offset, pointer, s.Err.Error())
}

// commonSlip names the mistakes that have a cure; rest starts where the
// reader stopped.
func commonSlip(rest []byte) string {
	for _, word := range []string{"NaN", "Infinity", "nan", "inf"} {
		if bytes.HasPrefix(rest, []byte(word)) {
			return word + " is not JSON; write null or a string"
		}
	}
	if len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' && (rest[2] == 'd' || rest[2] == 'D') && rest[3] >= '8' {
		return string(rest[:6]) + " is half of a surrogate pair; no UTF-8 text can hold it"
	}
	if bytes.HasPrefix(rest, []byte(",")) {
		if next := bytes.TrimLeft(rest[1:], " \t\r\n"); len(next) > 0 && (next[0] == ']' || next[0] == '}') {
			return "a comma with nothing after it; take it away"
		}
	}
	return ""
}

func place(raw []byte, offset int, pointer, reason string) *Error {
	offset = max(0, min(offset, len(raw)))
	line := 1 + bytes.Count(raw[:offset], []byte{'\n'})
	start := 1 + bytes.LastIndexByte(raw[:offset], '\n')
	return &Error{
		Offset:  offset,
		Line:    line,
		Column:  1 + utf8.RuneCount(raw[start:offset]),
		Pointer: pointer,
		Reason:  reason,
	}
}
