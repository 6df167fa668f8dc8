package weburl

import "net/netip"

// Location is where a browser would go for an address.
type Location struct {
	Scheme      string     // "http" or "https"
	Credentials bool       // a name or a password stands before the host
	Host        string     // ASCII, lower case, no final dot, no brackets; of an IP address its usual spelling
	IP          netip.Addr // valid where the host is an IP address, in any spelling
	Port        string     // as a plain number; empty where none is written
	Path        string     // as written, with its leading slash, or empty
	Query       string     // as written, without the question mark
}

// Locate takes an address apart as a browser would, so that a host in decimal, in
// octal or in full-width digits is the address that it means. It refuses what has
// no host or is not http or https; the rest is for the caller to judge.
func Locate(raw string) (Location, error) {
	a, err := parse(raw)
	if err != nil {
		return Location{}, err
	}
	l := Location{Scheme: a.scheme, Credentials: a.userinfo, Host: a.host, IP: a.ip, Port: a.written, Path: a.path, Query: a.query}
	if a.ip.IsValid() {
		l.Host = a.ip.String()
	}
	return l, nil
}
