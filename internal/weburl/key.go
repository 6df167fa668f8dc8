package weburl

import (
	"net/url"
	"slices"
	"strings"
)

// Key is the form in which two addresses of one page are equal: scheme,
// credentials, fragment, ports 80 and 443 and a leading www. dropped; the host in
// lower-case ASCII without a final dot; dot segments resolved; escapes normalised
// (an escaped slash stays escaped); no final slash; the query sorted by name,
// values of one name in their order, without what only tracks a visitor.
// The case of the path is kept. Key of a key, with http:// before it, is itself.
func Key(raw string) (string, error) {
	a, err := parse(raw)
	if err != nil {
		return "", err
	}
	key := a.host
	switch {
	case a.ip.Is4():
		key = a.ip.String()
	case a.ip.IsValid():
		key = "[" + a.ip.String() + "]"
	}
	for {
		rest, ok := strings.CutPrefix(key, "www.")
		if !ok || !strings.Contains(rest, ".") {
			break
		}
		key = rest
	}
	if a.port != "" {
		key += ":" + a.port
	}
	key += keyPath(a.path)
	if query := keyQuery(a.query); query != "" {
		key += "?" + query
	}
	return key, nil
}

const hexDigits = "0123456789ABCDEF"

// keyPath normalises escapes, then resolves dot segments (an escaped dot is one).
func keyPath(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		escaped := false
		if c == '%' {
			if decoded, ok := escape(path, i); ok {
				c, escaped = decoded, true
				i += 2
			} else {
				escaped = true // a stray percent sign means itself
			}
		}
		if unreserved(c) || !escaped && strings.IndexByte("/!$&'()*+,;=:@", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
	var segments []string
	for segment := range strings.SplitSeq(strings.TrimPrefix(b.String(), "/"), "/") {
		switch segment {
		case ".":
		case "..":
			segments = segments[:max(0, len(segments)-1)]
		default:
			segments = append(segments, segment)
		}
	}
	return strings.TrimRight("/"+strings.Join(segments, "/"), "/")
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// keyQuery leaves out pairs with a broken escape: they cannot be compared.
func keyQuery(query string) string {
	type pair struct{ name, value string }
	var pairs []pair
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		n, err1 := url.QueryUnescape(name)
		v, err2 := url.QueryUnescape(value)
		if part == "" || err1 != nil || err2 != nil || tracks(n) {
			continue
		}
		pairs = append(pairs, pair{n, v})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	var b strings.Builder
	for _, p := range pairs {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(p.name) + "=" + url.QueryEscape(p.value))
	}
	return b.String()
}

// tracks reports whether a parameter only tells where a visitor came from.
func tracks(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "utm_") || trackers[name]
}

var trackers = map[string]bool{
	"fbclid": true, "gclid": true, "dclid": true, "msclkid": true, "yclid": true, "twclid": true,
	"igshid": true, "igsh": true, "mc_cid": true, "mc_eid": true, "ref": true, "ref_src": true,
	"ref_url": true, "si": true, "feature": true, "_hsenc": true, "_hsmi": true, "mkt_tok": true, "spm": true,
}
