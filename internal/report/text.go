package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// plain shows what would steer the direction of a text, or a terminal that it is
// copied to, instead of obeying it. page.js does the same.
func plain(s string) string {
	if strings.IndexFunc(s, steers) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if steers(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func steers(r rune) bool {
	switch {
	case r == '\t' || r == '\n':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f, r == 0x61c, r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff:
		return true
	}
	return r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x2069
}

// clip keeps so many bytes of a text, and whole runes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// number groups digits by three.
func number(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// money writes dollars: cents where they are many, else as much as tells.
func money(usd float64) string {
	switch {
	case usd == 0:
		return "0"
	case math.Abs(usd) >= 1:
		return strconv.FormatFloat(usd, 'f', 2, 64)
	}
	return strconv.FormatFloat(usd, 'f', 2+max(0, -int(math.Floor(math.Log10(math.Abs(usd))))), 64)
}

// took writes a duration with two or three digits that tell.
func took(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2g ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// decimal writes a coordinate.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }
