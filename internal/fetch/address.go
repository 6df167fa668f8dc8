package fetch

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/internal/weburl"
)

// global is the part of IPv6 that is given out. Being outside it is what refuses
// the unspecified address, loopback, IPv4-compatible and NAT64 addresses, private,
// link-local, site-local, segment-routing and multicast ones.
var global = netip.MustParsePrefix("2000::/3")

// closed lists what no page of the web stands under, although it looks like an
// address of the internet, each with what it is.
var closed = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"}, // Linux connects to loopback
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared by a carrier's customers"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's service for its machines"}, // public by its number only
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "for protocols"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation"},
	{netip.MustParsePrefix("192.31.196.0/24"), "for name servers of private networks"},
	{netip.MustParsePrefix("192.52.193.0/24"), "for multicast relays"},
	{netip.MustParsePrefix("192.88.99.0/24"), "for 6to4 relays"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("192.175.48.0/24"), "for name servers of private networks"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("2001::/23"), "for protocols"}, // Teredo among them
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation"},
	{netip.MustParsePrefix("2002::/16"), "a 6to4 address"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation"},
}

// errRefused marks what the address rule refuses.
var errRefused = errors.New("refused")

type refusal struct{ why string }

func (r *refusal) Error() string        { return r.why }
func (r *refusal) Is(target error) bool { return target == errRefused }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// public says why an address is not one of the public internet; nil if it is.
func public(addr netip.Addr) error {
	if !addr.IsValid() {
		return refuse("there is no address to connect to")
	}
	if addr.Zone() != "" {
		return refuse("the address %s belongs to one network link", addr)
	}
	addr = addr.Unmap() // an IPv4 address in IPv6 clothes is that IPv4 address
	if addr.Is6() && !global.Contains(addr) {
		return refuse("the address %s is not public", addr)
	}
	for _, c := range closed {
		if c.prefix.Contains(addr) {
			return refuse("the address %s is not public (%s)", addr, c.what)
		}
	}
	return nil
}

// localNames are the ends of names that no public name server answers for.
var localNames = []string{".localhost", ".local", ".internal", ".home.arpa"}

// publicName says why a host's name cannot be one of the public internet.
func publicName(host string) error {
	if !strings.Contains(host, ".") {
		return refuse("the host %s is a single label", host)
	}
	for _, end := range localNames {
		if strings.HasSuffix(host, end) {
			return refuse("the host %s is a name of the local network", host)
		}
	}
	return nil
}

// target is an address that may be connected to, as far as can be told before its
// name is resolved.
type target struct {
	url    *url.URL // in a form that any server understands; no fragment, no credentials
	host   string   // without brackets
	ip     netip.Addr
	port   uint16
	exempt string // the entry of allow_hosts under which its addresses need not be public
	used   bool   // the entry was needed already: for the port, the name or the address
}

// root reports whether the target is a site's front page.
func (t *target) root() bool { return strings.Trim(t.url.Path, "/") == "" && t.url.RawQuery == "" }

// indexes are what a front page is also called.
var indexes = []string{"index", "default", "home"}

// deep reports whether the target is a page below a site's front page.
func (t *target) deep() bool {
	name := strings.ToLower(strings.Trim(t.url.Path, "/"))
	stem, _, _ := strings.Cut(name, ".")
	return name != "" && (strings.Contains(name, "/") || !slices.Contains(indexes, stem))
}

// maxURL is the longest address that is asked for: each hop of one stands in a row
// of evidence.
const maxURL = 8 << 10

// judge takes an address apart and says whether it may be asked.
func (c *Client) judge(raw string) (*target, error) {
	if len(raw) > maxURL {
		return nil, refuse("the URL has %d bytes; at most %d are asked for", len(raw), maxURL)
	}
	at, err := weburl.Locate(raw)
	if err != nil {
		return nil, refuse("%s", err)
	}
	if at.Credentials {
		return nil, refuse("the URL holds credentials before its host")
	}
	usual := uint16(80)
	if at.Scheme == "https" {
		usual = 443
	}
	t := &target{host: at.Host, ip: at.IP, port: usual}
	if at.Port != "" {
		n, err := strconv.ParseUint(at.Port, 10, 16)
		if err != nil {
			return nil, refuse("%q is not a port", at.Port)
		}
		t.port = uint16(n)
	}
	t.exempt = c.allowed.entry(t.host, t.port)
	if err := t.permitted(); err != nil {
		if t.exempt == "" {
			return nil, err
		}
		t.used = true
	}
	host := t.host
	if t.ip.Is6() {
		host = "[" + host + "]"
	}
	if t.port != usual {
		host += ":" + strconv.Itoa(int(t.port))
	}
	if t.url, err = pageURL(at.Scheme, host, at.Path, at.Query); err != nil {
		return nil, refuse("%s", err)
	}
	return t, nil
}

// permitted is the part of the address rule that needs no look-up.
func (t *target) permitted() error {
	if t.port != 80 && t.port != 443 {
		return refuse("the port %d is neither 80 nor 443", t.port)
	}
	if t.ip.IsValid() {
		return public(t.ip)
	}
	return publicName(t.host)
}

// pageURL makes the URL that is sent: what may not stand in one is escaped, as
// browsers do, and dot segments are resolved.
func pageURL(scheme, host, path, query string) (*url.URL, error) {
	s := scheme + "://" + host + escape(path)
	if query != "" {
		s += "?" + escape(query)
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("the URL cannot be sent to a server: %w", errors.Unwrap(err))
	}
	u = u.ResolveReference(u)
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// escape escapes what may not stand in a path or a query. A percent sign that
// begins no escape means itself.
func escape(s string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		stray := c == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]))
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 || stray {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// allowed are the hosts that are exempt from the address rule, each with its entry
// as it is written: "host", or "host:port" for that port alone.
type allowed map[string]string

func allowHosts(entries []string) allowed {
	a := allowed{}
	for _, entry := range entries {
		if key, err := allowKey(entry); err == nil {
			a[key] = entry
		}
	}
	return a
}

// CheckAllowHost says why an entry of Options.AllowHosts would exempt nothing, and
// what to write instead; nil if it is well formed.
func CheckAllowHost(entry string) error {
	_, err := allowKey(entry)
	return err
}

func allowKey(entry string) (string, error) {
	at, err := weburl.Locate("http://" + entry)
	if err != nil || at.Credentials || at.Path != "" || at.Query != "" || strings.ContainsAny(entry, "#?*") {
		return "", fmt.Errorf("%q is not a host; write host or host:port, as in wiki.example.com or 127.0.0.1:8080", entry)
	}
	if at.Port == "" {
		return at.Host, nil
	}
	return at.Host + " " + at.Port, nil
}

func (a allowed) entry(host string, port uint16) string {
	if entry, ok := a[host+" "+strconv.Itoa(int(port))]; ok {
		return entry
	}
	return a[host]
}
