package canon

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// withinBounds looks at what the JSON reader lets pass: nesting, and numbers
// that a double would change. raw is known to be JSON.
func withinBounds(raw []byte) bool {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			i = closingQuote(raw, i)
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || isDigit(c):
			end := numberEnd(raw, i)
			if numberReason(raw[i:end]) != "" {
				return false
			}
			i = end - 1
		}
	}
	return true
}

// closingQuote is the index of the quote that ends the string that starts at i.
func closingQuote(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return len(raw)
		}
		i += n
		slashes := 0
		for raw[i-1-slashes] == '\\' { // stops at the opening quote at the latest
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func numberEnd(raw []byte, i int) int {
	for i < len(raw) && (isDigit(raw[i]) || raw[i] == '-' || raw[i] == '+' || raw[i] == '.' || raw[i] == 'e' || raw[i] == 'E') {
		i++
	}
	return i
}

// safeDigits is how long an integer may be that needs no closer look: 2^53 has 16 digits.
const safeDigits = 15

// numberReason says why a number is refused; empty: it is not.
//
// Fractions are rounded to the nearest double as every reader does. An integer
// is not: it is an identifier more often than a quantity, and rounding would
// make two of them one.
func numberReason(n []byte) string {
	if len(n) <= safeDigits && !bytes.ContainsAny(n, "eE") {
		return ""
	}
	value, err := strconv.ParseFloat(string(n), 64)
	if errors.Is(err, strconv.ErrRange) || math.IsInf(value, 0) {
		return "the number " + abridge(n) + " is beyond what a double can hold; write it as a string"
	}
	if bytes.ContainsAny(n, ".eE") || exact(n, value) {
		return ""
	}
	return "the integer " + abridge(n) + " cannot be held exactly (a double would make it " +
		string(jsontext.AppendFloat(nil, value, 64)) + "); write it as a string"
}

// exact reports whether the integer n comes back as it is. That is so for
// what a double holds exactly, and for what is its canonical form already:
// 2^64 is written 18446744073709552000, and must be readable again.
func exact(n []byte, value float64) bool {
	if string(jsontext.AppendFloat(nil, value, 64)) == string(n) {
		return true
	}
	want, ok := new(big.Int).SetString(string(n), 10)
	if !ok {
		return false
	}
	got, accuracy := big.NewFloat(value).Int(nil)
	return accuracy == big.Exact && got.Cmp(want) == 0
}

func abridge(n []byte) string {
	if len(n) <= 40 {
		return string(n)
	}
	return string(n[:20]) + "…" + string(n[len(n)-10:])
}
