package weburl

import (
	"fmt"
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
	path := strings.TrimPrefix(a.path, "/")
	switch {
	case a.host == "web.archive.org":
		rest, ok := strings.CutPrefix(path, "web/")
		stamp, page, found := strings.Cut(rest, "/")
		if !ok || !found || page == "" || stamp == "" || strings.Trim(stamp, "0123456789abcdefghijklmnopqrstuvwxyz_*") != "" {
			return ""
		}
		return withScheme(page, a.query)
	case strings.HasSuffix(a.host, ".cdn.ampproject.org"):
		kind, page, ok := strings.Cut(path, "/")
		if !ok || len(kind) == 0 || len(kind) > 3 {
			return ""
		}
		return withScheme(strings.TrimPrefix(page, "s/"), a.query)
	case googleAMP(a.host) && strings.HasPrefix(path, "amp/"):
		return withScheme(strings.TrimPrefix(strings.TrimPrefix(path, "amp/"), "s/"), a.query)
	case strings.HasSuffix(a.host, ".translate.goog"):
		label := strings.TrimSuffix(a.host, ".translate.goog")
		// Hyphens stand for dots, two of them for a hyphen.
		label = strings.ReplaceAll(label, "--", "\x00")
		label = strings.ReplaceAll(label, "-", ".")
		return "https://" + strings.ReplaceAll(label, "\x00", "-") + a.path
	}
	return ""
}

func googleAMP(host string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(host, "www."), "google.")
	return ok && len(rest) <= len("com.au")
}

// withScheme gives a page inside a path its scheme: none written means http, and
// proxies on the way fold the two slashes into one.
func withScheme(page, query string) string {
	if query != "" {
		page += "?" + query
	}
	lower := strings.ToLower(page)
	for _, scheme := range []string{"http", "https"} {
		for _, slashes := range []string{"://", ":/"} {
			if strings.HasPrefix(lower, scheme+slashes) {
				return scheme + "://" + page[len(scheme+slashes):]
			}
		}
		if escaped := scheme + "%3a%2f%2f"; strings.HasPrefix(lower, escaped) {
			decoded, ok := decodeEscapes(page)
			if !ok {
				return page
			}
			return decoded
		}
	}
	return "http://" + page
}
