package weburl

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Domain is the registrable domain of an address: one label below a public
// suffix, the private section of the list included, so that two hosts of
// github.io are two owners. An archived, AMP or translated copy has the domain of
// the page that it is a copy of.
func Domain(raw string) (string, error) {
	a, err := parse(raw)
	if err != nil {
		return "", err
	}
	for depth := 0; ; depth++ {
		if a.userinfo {
			return "", fmt.Errorf("the URL holds credentials before its host")
		}
		if a.ip.IsValid() {
			return "", fmt.Errorf("the host %s is an IP address, which belongs to no domain", a.ip)
		}
		inner := unwrap(a)
		if inner == "" {
			break
		}
		if depth == 5 {
			return "", fmt.Errorf("the URL is a copy of a copy more than five deep")
		}
		if a, err = parse(inner); err != nil {
			return "", fmt.Errorf("the page inside the copy: %w", err)
		}
	}
	if !strings.Contains(a.host, ".") {
		return "", fmt.Errorf("the host %s is a single label", a.host)
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(a.host)
	if err != nil {
		return "", fmt.Errorf("the host %s is a public suffix, which nobody owns", a.host)
	}
	return domain, nil
}

// unwrap gives the address of the page that a is a copy of, "" where it is none.
func unwrap(a address) string {
	path := strings.TrimLeft(withoutDots(a.path), "/")
	switch {
	case a.host == "web.archive.org", a.host == "wayback.archive.org":
		return archived(path, a.query)
	case a.host == "cdn.ampproject.org", strings.HasSuffix(a.host, ".cdn.ampproject.org"), strings.HasSuffix(a.host, ".bing-amp.com"):
		kind, page, ok := strings.Cut(path, "/")
		if !ok || len(kind) == 0 || len(kind) > 3 {
			return ""
		}
		return withScheme(strings.TrimPrefix(page, "s/"), a.query)
	case googleAMP(a.host) && strings.HasPrefix(path, "amp/"):
		return withScheme(strings.TrimPrefix(strings.TrimPrefix(path, "amp/"), "s/"), a.query)
	case strings.HasSuffix(a.host, ".translate.goog"):
		label := strings.TrimSuffix(a.host, ".translate.goog")
		if inner, ok := strings.CutPrefix(label, "0-"); ok && strings.HasSuffix(inner, "-0") {
			label = strings.TrimSuffix(inner, "-0") // keeps a hyphen from its third and fourth place
		}
		// Hyphens stand for dots, two of them for a hyphen.
		label = strings.ReplaceAll(label, "--", "\x00")
		label = strings.ReplaceAll(label, "-", ".")
		return "https://" + strings.ReplaceAll(label, "\x00", "-") + a.path
	case a.host == "translate.google.com" && strings.TrimRight(path, "/") == "translate":
		if page := parameter(a.query, "u"); page != "" {
			return withScheme(page, "")
		}
	}
	return ""
}

// archived is the page of an address of the Wayback Machine: a time and what to
// show of it stand before the page, or nothing does and its latest copy is meant.
func archived(path, query string) string {
	rest, inWeb := strings.CutPrefix(path, "web/")
	if !inWeb {
		rest = strings.TrimPrefix(strings.TrimPrefix(path, "save/"), "_embed/")
	}
	if namesScheme(rest) {
		return withScheme(rest, query)
	}
	stamp, page, found := strings.Cut(rest, "/")
	page = strings.TrimLeft(page, "/")
	if !inWeb || !found || page == "" || stamp == "" || strings.Trim(stamp, "0123456789abcdefghijklmnopqrstuvwxyz_*") != "" {
		return ""
	}
	return withScheme(page, query)
}

// withoutDots resolves the dot segments of a path, as a browser does before it
// asks: /x/../web/ is /web/. Empty segments stay, a page inside has some.
func withoutDots(path string) string {
	if !strings.Contains(path, ".") && !strings.Contains(path, "%") {
		return path
	}
	var segments []string
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".":
		case "..":
			segments = segments[:max(0, len(segments)-1)]
		default:
			segments = append(segments, segment)
		}
	}
	return "/" + strings.Join(segments, "/")
}

// parameter is the first value of a name in a query, "" where it has none.
func parameter(query, name string) string {
	for part := range strings.SplitSeq(query, "&") {
		if value, ok := strings.CutPrefix(part, name+"="); ok {
			decoded, err := url.QueryUnescape(value)
			if err != nil {
				return ""
			}
			return decoded
		}
	}
	return ""
}

func googleAMP(host string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(host, "www."), "google.")
	return ok && len(rest) <= len("com.au")
}

// namesScheme reports whether a page inside a path begins with its scheme,
// escaped or not.
func namesScheme(page string) bool {
	for _, start := range []string{"http:/", "https:/", "http%3a", "https%3a"} {
		if hasPrefixFold(page, start) {
			return true
		}
	}
	return false
}

// withScheme gives a page inside a path its scheme: none written means http, and
// proxies on the way fold the two slashes into one.
func withScheme(page, query string) string {
	if query != "" {
		page += "?" + query
	}
	for _, scheme := range []string{"http", "https"} {
		if hasPrefixFold(page, scheme+"%3a") {
			decoded, ok := decodeEscapes(page)
			if !ok {
				return page
			}
			page = decoded
		}
		for _, slashes := range []string{"://", ":/"} {
			if hasPrefixFold(page, scheme+slashes) {
				return scheme + "://" + page[len(scheme+slashes):]
			}
		}
	}
	return "http://" + page
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
