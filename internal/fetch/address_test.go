package fetch

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func TestPublic(t *testing.T) {
	for _, tt := range []struct {
		addr string
		want bool
	}{
		{"1.1.1.1", true}, {"8.8.8.8", true}, {"93.184.216.34", true}, {"11.0.0.1", true},
		{"9.255.255.255", true}, {"100.63.255.255", true}, {"100.128.0.0", true}, {"126.255.255.255", true}, {"128.0.0.1", true},
		{"169.253.255.255", true}, {"169.255.0.0", true}, {"172.15.255.255", true}, {"172.32.0.0", true},
		{"192.0.1.0", true}, {"192.0.3.1", true}, {"192.167.255.255", true}, {"192.169.0.1", true},
		{"198.17.255.255", true}, {"198.20.0.1", true}, {"198.51.101.1", true}, {"203.0.112.255", true}, {"203.0.114.1", true},
		{"223.255.255.255", true}, {"168.63.129.17", true},

		{"0.0.0.0", false}, {"0.1.2.3", false}, {"10.0.0.0", false}, {"10.255.255.255", false},
		{"100.64.0.1", false}, {"100.100.100.200", false}, {"100.127.255.255", false},
		{"127.0.0.1", false}, {"127.255.255.254", false}, {"168.63.129.16", false},
		{"169.254.0.1", false}, {"169.254.169.254", false}, {"172.16.0.1", false}, {"172.31.255.255", false},
		{"192.0.0.1", false}, {"192.0.0.192", false}, {"192.0.2.1", false}, {"192.31.196.1", false}, {"192.52.193.1", false},
		{"192.88.99.1", false}, {"192.168.0.1", false}, {"192.168.255.255", false}, {"192.175.48.1", false},
		{"198.18.0.1", false}, {"198.19.255.255", false}, {"198.51.100.1", false}, {"203.0.113.1", false},
		{"224.0.0.1", false}, {"239.255.255.255", false}, {"240.0.0.1", false}, {"255.255.255.255", false},

		{"2606:4700:4700::1111", true}, {"2001:4860:4860::8888", true}, {"2a00:1450:4001:80b::200e", true}, {"2001:200::1", true},
		{"3ffe:ffff::1", true}, {"3fff:1000::1", true}, {"2003::1", true}, {"2001:db7::1", true}, {"2001:db9::1", true},

		{"::", false}, {"::1", false}, {"::127.0.0.1", false}, {"::8.8.8.8", false},
		{"::ffff:127.0.0.1", false}, {"::ffff:10.0.0.1", false}, {"::ffff:169.254.169.254", false}, {"::ffff:0:127.0.0.1", false},
		{"::ffff:8.8.8.8", true}, // the same address as 8.8.8.8
		{"64:ff9b::7f00:1", false}, {"64:ff9b::a9fe:a9fe", false}, {"64:ff9b::808:808", false}, {"64:ff9b:1::1", false},
		{"100::1", false}, {"100:0:0:1::1", false},
		{"2001::1", false}, {"2001:0:4136:e378:8000:63bf:3fff:fdd2", false}, {"2001:2::1", false}, {"2001:3::1", false},
		{"2001:10::1", false}, {"2001:20::1", false}, {"2001:1ff:ffff::1", false},
		{"2001:db8::1", false}, {"2002::1", false}, {"2002:7f00:1::", false}, {"2002:808:808::1", false}, {"3fff::1", false}, {"3fff:fff::1", false},
		{"1fff:ffff::1", false}, {"4000::1", false}, {"5f00::1", false},
		{"fc00::1", false}, {"fd00:ec2::254", false}, {"fe80::1", false}, {"fe80::1%lo", false}, {"2606:4700::1%lo", false},
		{"febf::1", false}, {"fec0::1", false}, {"ff02::1", false}, {"ffff::1", false},
	} {
		if err := public(netip.MustParseAddr(tt.addr)); (err == nil) != tt.want {
			t.Errorf("public(%s) = %v; want %v", tt.addr, err, tt.want)
		}
	}
	if public(netip.Addr{}) == nil {
		t.Error("no address is taken for a public one")
	}
}

// TestRefusedWithoutAQuestion: what the address itself tells is not looked up.
func TestRefusedWithoutAQuestion(t *testing.T) {
	r := newInternet(t, Options{})
	for _, tt := range []struct{ name, address, why string }{
		{"empty", "", "the URL is empty"},
		{"scheme", "ftp://example.com/", "the URL does not start with http:// or https://"},
		{"file", "file:///etc/passwd", "the URL does not start with http:// or https://"},
		{"credentials", "http://u:p@example.com/", "the URL holds credentials before its host"},
		{"a name before the host", "https://wikipedia.org@example.com/x", "the URL holds credentials before its host"},
		{"port", "http://example.com:8080/", "the port 8080 is neither 80 nor 443"},
		{"port of mail", "http://example.com:25/", "the port 25 is neither 80 nor 443"},
		{"port zero", "http://example.com:0/", "the port 0 is neither 80 nor 443"},
		{"single label", "http://intranet/", "the host intranet is a single label"},
		{"localhost", "http://localhost/", "the host localhost is a single label"},
		{"localhost with a dot", "http://localhost./", "the host localhost is a single label"},
		{"circled letters", "http://ⓛocalhost/", "the host localhost is a single label"},
		{"below localhost", "http://a.localhost/", "the host a.localhost is a name of the local network"},
		{"local", "http://printer.local/", "the host printer.local is a name of the local network"},
		{"internal", "http://metadata.google.internal/", "the host metadata.google.internal is a name of the local network"},
		{"home", "http://box.home.arpa/", "the host box.home.arpa is a name of the local network"},
		{"capitals", "http://PRINTER.LOCAL/", "the host printer.local is a name of the local network"},
		{"loopback", "http://127.0.0.1/", "the address 127.0.0.1 is not public (loopback)"},
		{"decimal", "http://2130706433/", "the address 127.0.0.1 is not public (loopback)"},
		{"hexadecimal", "http://0x7f.1/", "the address 127.0.0.1 is not public (loopback)"},
		{"hexadecimal whole", "http://0x7f000001/", "the address 127.0.0.1 is not public (loopback)"},
		{"short", "http://127.1/", "the address 127.0.0.1 is not public (loopback)"},
		{"octal", "http://0177.0.0.1/", "the address 127.0.0.1 is not public (loopback)"},
		{"full-width digits", "http://１２７.０.０.１/", "the address 127.0.0.1 is not public (loopback)"},
		{"full-width dots", "http://127。0。0。1/", "the address 127.0.0.1 is not public (loopback)"},
		{"escaped", "http://%31%32%37.0.0.1/", "the address 127.0.0.1 is not public (loopback)"},
		{"final dot", "http://127.0.0.1./", "the address 127.0.0.1 is not public (loopback)"},
		{"metadata", "http://169.254.169.254/latest/meta-data/", "the address 169.254.169.254 is not public (link-local)"},
		{"unspecified", "http://0.0.0.0/", "the address 0.0.0.0 is not public (this network)"},
		{"zero", "http://0/", "the address 0.0.0.0 is not public (this network)"},
		{"IPv6 unspecified", "http://[::]/", "the address :: is not public"},
		{"IPv6 loopback", "http://[::1]/", "the address ::1 is not public"},
		{"mapped", "http://[::ffff:127.0.0.1]/", "the address 127.0.0.1 is not public (loopback)"},
		{"NAT64", "http://[64:ff9b::a9fe:a9fe]/", "the address 64:ff9b::a9fe:a9fe is not public"},
		{"6to4", "http://[2002:7f00:1::]/", "the address 2002:7f00:1:: is not public (a 6to4 address)"},
		{"Teredo", "http://[2001:0:4136:e378::1]/", "the address 2001:0:4136:e378::1 is not public (for protocols)"},
		{"zone", "http://[fe80::1%25lo]/", `the host "[fe80::1%25lo]" is not an IPv6 address`},
		{"zone without an escape", "http://[fe80::1%lo]/", `the host "[fe80::1%lo]" is not an IPv6 address`},
		{"backslash", `http://example.com\@127.0.0.1/`, `the URL holds a backslash; write /`},
		{"too long", "http://example.com/" + strings.Repeat("a", maxURL), "the URL has 8211 bytes; at most 8192 are asked for"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page := r.read(t, tt.address)
			want := &dag.Page{URL: tt.address, Verdict: dag.PageDead, Why: tt.why, At: page.At}
			if diff := cmp.Diff(want, page); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if n := r.names.lookups(); n > 0 {
		t.Errorf("%d names were looked up", n)
	}
	if got := r.trap.requests(); len(got) > 0 {
		t.Errorf("%d requests were sent", len(got))
	}
}

// TestRefusedAtTheDial: a name is judged by the address that is about to be
// connected to, each of them, whenever it is looked up.
func TestRefusedAtTheDial(t *testing.T) {
	for _, tt := range []struct {
		name, answers string
		why           string
	}{
		{"loopback", "127.0.0.1", "the address 127.0.0.1 is not public (loopback)"},
		{"IPv6 loopback", "::1", "the address ::1 is not public"},
		{"mapped, as resolvers give them", "::ffff:10.1.2.3", "the address 10.1.2.3 is not public (private)"},
		{"metadata", "169.254.169.254", "the address 169.254.169.254 is not public (link-local)"},
		{"NAT64", "64:ff9b::7f00:1", "the address 64:ff9b::7f00:1 is not public"},
		{"link-local with a zone", "fe80::1%lo", "the address fe80::1%lo belongs to one network link"},
		{"several", "10.0.0.1 192.168.1.1 fd00::1", "the address 10.0.0.1 is not public (private)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newInternet(t, Options{})
			r.names.answers["a.example"] = []string{tt.answers}
			for _, scheme := range []string{"http", "https"} {
				page := r.read(t, scheme+"://a.example/x")
				if page.Verdict != dag.PageDead || page.Why != tt.why || page.Attempts != 1 || page.NoAnswer {
					t.Errorf("%s: %+v; want it dead at once: %s", scheme, page, tt.why)
				}
			}
			if n := len(r.trap.requests()); n > 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

// TestNameThatChangesItsAnswer: public when it is first asked for, then not.
func TestNameThatChangesItsAnswer(t *testing.T) {
	r := newInternet(t, Options{})
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	r.host("rebind.example", "93.184.216.34", s)
	r.names.answers["rebind.example"] = []string{"93.184.216.34", "127.0.0.1"}
	page := r.read(t, "http://rebind.example/x")
	if page.Verdict != dag.PageDead || page.Why != "the address 127.0.0.1 is not public (loopback)" || page.Attempts != 2 || page.Status != 503 {
		t.Errorf("%+v; want it refused at its second attempt", page)
	}
	if len(s.requests()) != 1 || len(r.trap.requests()) != 0 {
		t.Errorf("%d requests to the public address, %d to the other; want 1 and 0", len(s.requests()), len(r.trap.requests()))
	}
}

// TestOneAddressOfSeveral: the public one is asked, the other never.
func TestOneAddressOfSeveral(t *testing.T) {
	r := newInternet(t, Options{})
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) })
	r.host("mixed.example", "93.184.216.34", s)
	r.names.answers["mixed.example"] = []string{"127.0.0.1 93.184.216.34"}
	if page := r.read(t, "http://mixed.example/x"); page.Verdict != dag.PageLive || page.Text != "here" {
		t.Errorf("%+v", page)
	}
	if n := len(r.trap.requests()); n != 0 {
		t.Errorf("%d requests to the address that is not public", n)
	}
}

// TestProxyIsIgnored: behind a proxy the rule would judge the proxy alone.
func TestProxyIsIgnored(t *testing.T) {
	r := newInternet(t, Options{})
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, r.trap.URL)
	}
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) })
	r.host("www.example.com", "93.184.216.34", s)
	if page := r.read(t, "http://www.example.com/x"); page.Verdict != dag.PageLive {
		t.Errorf("%+v", page)
	}
	if n := len(r.trap.requests()); n > 0 {
		t.Errorf("%d requests went to the proxy", n)
	}
}

func TestAllowHosts(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) })
	_, port, _ := strings.Cut(s.host, ":")
	for _, tt := range []struct {
		name, entry, address string
		exempt               []string // nil: refused
	}{
		{"host and port", s.host, s.URL, []string{s.host}},
		{"host", "127.0.0.1", s.URL, []string{"127.0.0.1"}},
		{"the address otherwise", "127.0.0.1", "http://2130706433:" + port, []string{"127.0.0.1"}},
		{"another port", "127.0.0.1:1", s.URL, nil},
		{"another host", "127.0.0.2", s.URL, nil},
		{"a name", "wiki.corp:" + port, "http://WIKI.corp:" + port, []string{"wiki.corp:" + port}},
		{"in capitals", "WIKI.Corp", "http://wiki.corp:" + port, []string{"WIKI.Corp"}},
		{"a single label", "wiki", "http://wiki:" + port, []string{"wiki"}},
		{"below it", "corp", "http://wiki.corp:" + port, nil},
		{"its address", "127.0.0.1", "http://wiki.corp:" + port, nil},
		{"a star", "*", s.URL, nil},
		{"an address", s.URL + "/", s.URL, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Options{AllowHosts: []string{tt.entry}})
			r.names.answers["wiki.corp"] = []string{"127.0.0.1"}
			r.names.answers["wiki"] = []string{"127.0.0.1"}
			page := r.read(t, tt.address+"/x")
			if diff := cmp.Diff(tt.exempt, page.Exempt); diff != "" || (page.Verdict == dag.PageLive) != (tt.exempt != nil) {
				t.Errorf("%+v; want the exemptions %v", page, tt.exempt)
			}
		})
	}
}

// TestExemptOnlyWhereNeeded: a host that the rule would let pass is no use of its
// exemption.
func TestExemptOnlyWhereNeeded(t *testing.T) {
	r := newInternet(t, Options{AllowHosts: []string{"www.example.com"}})
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) })
	r.host("www.example.com", "93.184.216.34", s)
	if page := r.read(t, "http://www.example.com/x"); page.Verdict != dag.PageLive || page.Exempt != nil {
		t.Errorf("%+v; want no exemption", page)
	}
}

func TestCheckAllowHost(t *testing.T) {
	for _, good := range []string{"localhost", "127.0.0.1:8080", "[::1]:80", "[::1]", "Wiki.Example.com", "bücher.example:443"} {
		if err := CheckAllowHost(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "http://a.b", "a.b/", "a.b/c", "u@a.b", "*.a.b", "a.b:x", "a b", "a.b?c", "a.b#c", "a.b:70000"} {
		want := `"` + bad + `" is not a host; write host or host:port, as in wiki.example.com or 127.0.0.1:8080`
		if err := CheckAllowHost(bad); err == nil || err.Error() != want {
			t.Errorf("%q: %v; want %s", bad, err, want)
		}
	}
}
