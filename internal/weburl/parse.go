package weburl

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// address is a URL taken apart as a browser would. net/url sees another host than
// a browser does in a tenth of the hostile cases (backslashes, full-width digits,
// soft hyphens, hexadecimal addresses); here those are mapped or refused.
type address struct {
	scheme   string // "http" or "https"
	userinfo bool
	host     string     // ASCII, lower case, no final dot; empty for an IP address
	ip       netip.Addr // valid where the host is an IP address, in any spelling
	port     string     // empty for 80 and 443
	written  string     // the port as it is written, as a plain number, or empty
	path     string     // as written, with its leading slash, or empty
	query    string     // as written, without the question mark
}

var lookup = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false))

func parse(raw string) (address, error) {
	var a address
	if !utf8.ValidString(raw) {
		return a, fmt.Errorf("the URL is not UTF-8")
	}
	s := strings.TrimSpace(raw)
	if s == "" {
		return a, fmt.Errorf("the URL is empty")
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }); i >= 0 {
		return a, fmt.Errorf("the URL holds white space or a control character")
	}
	scheme, rest, ok := strings.Cut(s, ":")
	a.scheme = strings.ToLower(scheme)
	if !ok || a.scheme != "http" && a.scheme != "https" {
		return a, fmt.Errorf("the URL does not start with http:// or https://")
	}
	rest, ok = strings.CutPrefix(rest, "//")
	if !ok {
		return a, fmt.Errorf("the URL has no // after its scheme %s", a.scheme)
	}
	authority, rest := cutAny(rest, `/?#\`)
	rest, _, _ = strings.Cut(rest, "#")
	a.path, a.query, _ = strings.Cut(rest, "?")
	if strings.Contains(a.path, `\`) {
		return a, fmt.Errorf(`the URL holds a backslash; write /`)
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		a.userinfo, authority = true, authority[i+1:]
	}
	return a, a.setHost(authority)
}

// cutAny splits before the first of the characters.
func cutAny(s, chars string) (before, rest string) {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

func (a *address) setHost(authority string) error {
	host, port := authority, ""
	if bracketed, ok := strings.CutPrefix(authority, "["); ok {
		inner, rest, closed := strings.Cut(bracketed, "]")
		ip, err := netip.ParseAddr(inner)
		if !closed || err != nil || !ip.Is6() || ip.Zone() != "" || rest != "" && rest[0] != ':' {
			return fmt.Errorf("the host %q is not an IPv6 address", authority)
		}
		a.ip, host, port = ip, "", strings.TrimPrefix(rest, ":")
	} else if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host, port = host[:i], host[i+1:]
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return fmt.Errorf("%q is not a port", port)
		}
		a.written = strconv.FormatUint(n, 10)
		if n != 80 && n != 443 {
			a.port = a.written
		}
	}
	if a.ip.IsValid() {
		return nil
	}
	return a.setName(host)
}

func (a *address) setName(host string) error {
	if host == "" {
		return fmt.Errorf("the URL has no host")
	}
	decoded, ok := decodeEscapes(host)
	if !ok || !utf8.ValidString(decoded) {
		return fmt.Errorf("the host %q holds a broken escape", host)
	}
	name, err := lookup.ToASCII(decoded)
	if err != nil {
		return fmt.Errorf("the host %q is not a domain name: %w", host, err)
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || len(name) > 253 {
			return fmt.Errorf("the host %q has an empty or overlong label", host)
		}
		if strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return fmt.Errorf("the host %q holds a character that no domain name has", host)
		}
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if !numeric(last) {
		a.host = name
		return nil
	}
	// A browser takes a name that ends in a number for an IPv4 address.
	ip, ok := parseIPv4(name)
	if !ok {
		return fmt.Errorf("the host %q ends in a number and is not an IPv4 address", host)
	}
	a.ip = ip
	return nil
}

// numeric reports whether a last label makes the whole host an IPv4 address.
func numeric(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// parseIPv4 reads the spellings that inet_aton knows: one to four parts, decimal,
// octal or hexadecimal, the last filling what is left.
func parseIPv4(name string) (netip.Addr, bool) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		n, ok := parseIPv4Part(part)
		if !ok {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			value |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(5-len(parts))) {
			return netip.Addr{}, false
		}
		value |= n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

func parseIPv4Part(part string) (uint64, bool) {
	base, digits := 10, part
	switch {
	case strings.HasPrefix(part, "0x"):
		base, digits = 16, part[2:]
	case len(part) > 1 && part[0] == '0':
		base, digits = 8, part[1:]
	}
	if digits == "" {
		return 0, base == 16 // "0x" alone is zero
	}
	n, err := strconv.ParseUint(digits, base, 33)
	return n, err == nil
}

// decodeEscapes decodes every percent escape; ok is false for a broken one.
func decodeEscapes(s string) (decoded string, ok bool) {
	if !strings.Contains(s, "%") {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		c, ok := escape(s, i)
		if !ok {
			return "", false
		}
		b.WriteByte(c)
		i += 2
	}
	return b.String(), true
}

// escape reads the percent escape at i.
func escape(s string, i int) (byte, bool) {
	if i+2 >= len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
	return byte(n), err == nil
}
