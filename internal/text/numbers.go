package text

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Numbers are the values of the numbers in s in order, each in one spelling: no
// grouping, no leading zero, no zero at the end of a fraction. A superscript is
// a number of its own, so 10² is not 102.
//
// A comma before exactly three digits groups them, before others it is a decimal
// comma; one point is a decimal point, several group. So 10,000 and 10.000 differ.
func Numbers(s string) []string {
	runes := []rune(norm.NFC.String(strings.ToValidUTF8(s, "\uFFFD")))
	var out []string
	for i := 0; i < len(runes); {
		switch r := runes[i]; {
		case unicode.Is(unicode.Nd, r):
			number, end := readNumber(runes, i)
			if i > 0 && (runes[i-1] == '-' || runes[i-1] == '−') && (i == 1 || !isWord(runes[i-2])) {
				number = "-" + number
			}
			out = append(out, number)
			i = end
		case unicode.Is(unicode.No, r):
			out = append(out, "^"+norm.NFKC.String(string(r)))
			i++
		default:
			i++
		}
	}
	return out
}

// DifferInNumbers reports whether both texts hold numbers, and not the same.
func DifferInNumbers(a, b string) bool {
	na, nb := Numbers(a), Numbers(b)
	return len(na) > 0 && len(nb) > 0 && !slices.Equal(na, nb)
}

// readNumber reads the digits from i on, with the separators between them.
func readNumber(runes []rune, i int) (number string, end int) {
	groups, seps := []string{""}, []rune{}
	for ; i < len(runes); i++ {
		r := runes[i]
		if unicode.Is(unicode.Nd, r) {
			groups[len(groups)-1] += string(rune('0' + digitValue(r)))
			continue
		}
		if (r != ',' && r != '.') || i+1 == len(runes) || !unicode.Is(unicode.Nd, runes[i+1]) {
			break
		}
		groups, seps = append(groups, ""), append(seps, r)
	}
	whole, fraction := groups[0], ""
	for k, sep := range seps {
		group, last := groups[k+1], k == len(seps)-1
		switch {
		case sep == ',' && len(group) == 3, sep == '.' && len(seps) > 1 && len(group) == 3 && !(last && strings.ContainsRune(string(seps), ',')):
			whole += group
		case last:
			fraction = group
		default: // neither grouping nor fraction, such as 1.2.3: kept as it is
			whole += string(sep) + group
		}
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		whole += "." + fraction
	}
	return whole, i
}

// digitValue is the value of a decimal digit: each script's ten stand together.
func digitValue(r rune) int {
	if r >= 0x1D7CE && r <= 0x1D7FF { // five sets side by side
		return int(r-0x1D7CE) % 10
	}
	value := 0
	for value < 9 && unicode.Is(unicode.Nd, r-1) {
		r--
		value++
	}
	return value
}
