package weburl

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestLocate(t *testing.T) {
	loopback := netip.MustParseAddr("127.0.0.1")
	for _, tt := range []struct {
		name, in string
		want     Location
	}{
		{"plain", "https://Example.com/a?b#c", Location{Scheme: "https", Host: "example.com", Path: "/a", Query: "b"}},
		{"default port written", "https://example.com:443", Location{Scheme: "https", Host: "example.com", Port: "443"}},
		{"the other scheme's port", "https://example.com:080/", Location{Scheme: "https", Host: "example.com", Port: "80", Path: "/"}},
		{"port zero", "http://example.com:0/", Location{Scheme: "http", Host: "example.com", Port: "0", Path: "/"}},
		{"credentials", "http://u:p@example.com./", Location{Scheme: "http", Credentials: true, Host: "example.com", Path: "/"}},
		{"query without a path", "http://example.com?a=1", Location{Scheme: "http", Host: "example.com", Query: "a=1"}},
		{"decimal", "http://2130706433/", Location{Scheme: "http", Host: "127.0.0.1", IP: loopback, Path: "/"}},
		{"full-width digits", "http://１２７.１/", Location{Scheme: "http", Host: "127.0.0.1", IP: loopback, Path: "/"}},
		{"IPv6", "http://[2001:DB8::1]:81/", Location{Scheme: "http", Host: "2001:db8::1", IP: netip.MustParseAddr("2001:db8::1"), Port: "81", Path: "/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Locate(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Errorf("Locate(%q) (-want +got)\n%s", tt.in, diff)
			}
		})
	}
	if _, err := Locate("http://[fe80::1%25lo]/"); err == nil {
		t.Error("a zone is taken for a host")
	}
}
