package diag

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apparentlymart/go-textseg/v17/textseg"
	"github.com/hashicorp/hcl/v2"
)

// DefaultWidth is where details are wrapped: it fits an 80-column terminal, a
// mail and a CI log.
const DefaultWidth = 78

// Options say how diagnostics are printed.
type Options struct {
	Colour bool // only where it was asked for: the caller knows its terminal and NO_COLOR
	Width  int  // 0: DefaultWidth
	// Source gives the bytes of a file as it was read, nil where there is none;
	// without them the place is named and nothing is quoted.
	Source func(file string) []byte
}

// Render prints diagnostics for people, sorted by file and place:
//
//	error: Unknown stage
//	  pipeline.hcl:34,8, in route "verdict":
//	    34 |   to = stage.verifer
//	       |        ^^^^^^^^^^^^^
//	  There is no stage "verifer". Did you mean "verifier"?
func Render(w io.Writer, diags hcl.Diagnostics, opts Options) error {
	if opts.Width == 0 {
		opts.Width = DefaultWidth
	}
	var b strings.Builder
	shown, left := firstOf(Shown(diags))
	for i, d := range shown {
		if i > 0 {
			b.WriteByte('\n')
		}
		opts.one(&b, d)
	}
	if left > 0 {
		what := "complaints"
		if left == 1 {
			what = "complaint"
		}
		fmt.Fprintf(&b, "\n… and %d more %s. Mend those above first; --json lists all.\n", left, what)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// most is how many diagnostics are printed for people: who has more has one
// cause for many, and starts at the top.
const most = 20

// firstOf are those that are printed, errors before warnings where not all are,
// and how many are not.
func firstOf(diags hcl.Diagnostics) (shown hcl.Diagnostics, left int) {
	if len(diags) <= most+1 { // a line about one is as long as one
		return diags, 0
	}
	errors := 0
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			errors++
		}
	}
	warnings := most - min(errors, most)
	for _, d := range diags {
		switch {
		case len(shown) == most:
		case d.Severity == hcl.DiagError:
			shown = append(shown, d)
		case warnings > 0:
			warnings--
			shown = append(shown, d)
		}
	}
	return shown, len(diags) - len(shown)
}

func (o Options) one(b *strings.Builder, d *hcl.Diagnostic) {
	word, hue := "error:", "31"
	if d.Severity == hcl.DiagWarning {
		word, hue = "warning:", "33"
	}
	fmt.Fprintf(b, "%s %s\n", o.paint("1;"+hue, word), o.paint("1", Clean(d.Summary)))
	info := InfoOf(d)
	if d.Subject != nil {
		place := place(*d.Subject)
		if info.Address != "" {
			place += ", in " + Clean(info.Address)
		}
		o.quote(b, place, *d.Subject, hue)
	} else if info.Address != "" {
		fmt.Fprintf(b, "  in %s:\n", Clean(info.Address))
	}
	for _, line := range Wrap(Clean(d.Detail), o.Width-2) {
		if line == "" {
			b.WriteByte('\n')
			continue
		}
		fmt.Fprintf(b, "  %s\n", line)
	}
	for _, r := range info.Related {
		o.quote(b, r.Label+": "+place(r.Range), r.Range, "36")
	}
}

func place(r hcl.Range) string {
	if r.Start.Line == 0 {
		return Clean(r.Filename)
	}
	return fmt.Sprintf("%s:%d,%d", Clean(r.Filename), r.Start.Line, r.Start.Column)
}

// quote prints the head line, then the line of the file with its range marked.
func (o Options) quote(b *strings.Builder, head string, r hcl.Range, hue string) {
	s, ok := snippet(o.Source, r)
	if !ok {
		fmt.Fprintf(b, "  %s\n", head)
		return
	}
	number := strconv.Itoa(r.Start.Line)
	gap := strings.Repeat(" ", len(number))
	fmt.Fprintf(b, "  %s:\n", head)
	fmt.Fprintf(b, "    %s | %s\n", number, printable(s.line))
	fmt.Fprintf(b, "    %s | %s%s\n", gap,
		strings.Repeat(" ", cells(s.line[:s.start])),
		o.paint(hue, strings.Repeat("^", max(1, cells(s.line[s.start:s.end])))))
}

func (o Options) paint(code, s string) string {
	if !o.Colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// marked is one line of a file with the bytes in it that are meant.
type marked struct {
	line       string
	start, end int // bytes within line
}

// snippet finds the first line of r and what of it r covers. The bytes of a
// range are not used: a place that came from a proof has only line and column.
func snippet(source func(string) []byte, r hcl.Range) (marked, bool) {
	if source == nil {
		return marked{}, false
	}
	line, ok := lineOf(source(r.Filename), r.Start.Line)
	if !ok {
		return marked{}, false
	}
	start := byteOfColumn(line, r.Start.Column)
	end := len(strings.TrimRight(line, " \t"))
	if r.End.Line == r.Start.Line {
		end = byteOfColumn(line, r.End.Column)
	}
	if end <= start {
		end = wordEnd(line, start)
	}
	return cut(marked{line, start, end}), true
}

// lineOf is a line of a text without its end; lines count from 1.
func lineOf(text []byte, number int) (string, bool) {
	rest := string(text)
	if rest == "" || number < 1 {
		return "", false
	}
	for range number - 1 {
		_, after, found := strings.Cut(rest, "\n")
		if !found {
			return "", false
		}
		rest = after
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.ToValidUTF8(strings.TrimSuffix(line, "\r"), "\uFFFD"), true
}

// quoted is how many bytes of a line are shown: a file may be one line of a
// megabyte, and nobody reads past the width of a screen.
const quoted = 160

// cut keeps the marked part of a long line and what stands around it.
func cut(m marked) marked {
	if len(m.line) <= quoted {
		return m
	}
	from := max(0, m.start-quoted/4)
	for from > 0 && !utf8.RuneStart(m.line[from]) {
		from--
	}
	to := min(len(m.line), from+quoted)
	for to < len(m.line) && !utf8.RuneStart(m.line[to]) {
		to--
	}
	head, tail := "", ""
	if from > 0 {
		head = "… "
	}
	if to < len(m.line) {
		tail = " …"
	}
	return marked{
		line:  head + m.line[from:to] + tail,
		start: len(head) + m.start - from,
		end:   len(head) + min(max(m.end, m.start), to) - from,
	}
}

// byteOfColumn finds where a column starts; HCL counts columns from 1 in what
// people see as characters.
func byteOfColumn(line string, column int) int {
	rest := []byte(line)
	for ; column > 1 && len(rest) > 0; column-- {
		n, _, err := textseg.ScanGraphemeClusters(rest, true)
		if err != nil || n == 0 {
			break
		}
		rest = rest[n:]
	}
	return len(line) - len(rest)
}

func wordEnd(line string, start int) int {
	end := start
	for end < len(line) {
		r, n := utf8.DecodeRuneInString(line[end:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.' && r != '-' {
			break
		}
		end += n
	}
	return end
}

// printable is a line as it is quoted: a tab is one blank, so that the mark
// below stands where it should.
func printable(line string) string {
	return Clean(strings.ReplaceAll(line, "\t", " "))
}

// cells is how many columns of a terminal s takes, near enough: one for each
// character, two for the wide ones.
func cells(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) || unicode.Is(unicode.Cf, r):
		case r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
			n += 2
		default:
			n++
		}
	}
	return n
}

// Clean replaces what would move the cursor, colour the screen or reverse the
// reading: text from plugins, models and files is data. Newlines stay.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Wrap breaks text into lines of at most width characters. A line that starts
// with a blank is a command or a listing and is left as it is.
func Wrap(text string, width int) []string {
	if text == "" {
		return nil
	}
	var lines []string
	for _, paragraph := range strings.Split(text, "\n") {
		if strings.HasPrefix(paragraph, " ") || paragraph == "" {
			lines = append(lines, paragraph)
			continue
		}
		line, used := "", 0
		for _, word := range strings.Fields(paragraph) {
			n := utf8.RuneCountInString(word)
			switch {
			case used == 0:
				line, used = word, n
			case used+1+n > width:
				lines = append(lines, line)
				line, used = word, n
			default:
				line, used = line+" "+word, used+1+n
			}
		}
		lines = append(lines, line)
	}
	return lines
}
