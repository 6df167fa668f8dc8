package weburl

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestKey(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"case and www", "HTTPS://WWW.Example.com/Posts/A/", "example.com/Posts/A"},
		{"sorted", "http://example.com/a?b=2&a=1", "example.com/a?a=1&b=2"},
		{"order of values kept", "http://example.com/a?a=2&a=1", "example.com/a?a=2&a=1"},
		{"default port", "https://example.com:443/a", "example.com/a"},
		{"other scheme", "http://example.com/a", "example.com/a"},
		{"other port", "http://example.com:8080/a", "example.com:8080/a"},
		{"case of the path", "http://example.com/posts/a", "example.com/posts/a"},
		{"no path", "https://example.com", "example.com"},
		{"slash", "https://example.com/", "example.com"},
		{"slashes", "https://example.com///", "example.com"},
		{"tracking", "https://example.com/a?UTM_Source=x&ID=1", "example.com/a?ID=1"},
		{"tracking in capitals", "https://EXAMPLE.com/A?SI=1", "example.com/A"},
		{"name alone", "https://example.com/a?x", "example.com/a?x="},
		{"empty query", "https://example.com/a?", "example.com/a"},
		{"broken escape", "https://example.com/a?bad=%zz&ok=1", "example.com/a?ok=1"},
		{"fragment", "https://example.com/a#b?c", "example.com/a"},
		{"credentials", "https://u:p@example.com/a", "example.com/a"},
		{"final dot", "https://example.com./a", "example.com/a"},
		{"IDN", "https://BÜCHER.example/a", "xn--bcher-kva.example/a"},
		{"full width host", "https://ｅｘａｍｐｌｅ.com/", "example.com"},
		{"soft hyphen", "https://exam\u00adple.com/", "example.com"},
		{"escaped slash stays", "https://example.com/a%2fb", "example.com/a%2Fb"},
		{"unreserved decoded", "https://example.com/%7Ea%41", "example.com/~aA"},
		{"non-ASCII path", "https://example.com/é", "example.com/%C3%A9"},
		{"dot segments", "https://example.com/a/./b/../c", "example.com/a/c"},
		{"escaped dot segments", "https://example.com/a/%2e%2E/c", "example.com/c"},
		{"above the root", "https://example.com/../../a", "example.com/a"},
		{"stray percent", "https://example.com/100%", "example.com/100%25"},
		{"plus and space", "https://example.com/?q=a+b&p=a%20b", "example.com?p=a+b&q=a+b"},
		{"white space around", " https://example.com/a\n", "example.com/a"},
		{"www alone", "https://www.com/", "www.com"},
		{"decimal address", "http://2130706433/", "127.0.0.1"},
		{"IPv6", "http://[2001:DB8::1]:81/", "[2001:db8::1]:81"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Key(tt.in)
			if err != nil || got != tt.want {
				t.Errorf("Key(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestKeyRefuses(t *testing.T) {
	for _, tt := range []struct{ in, reason string }{
		{"", "the URL is empty"},
		{"file:///x.md", "the URL does not start with http:// or https://"},
		{"mailto:x@y.z", "the URL does not start with http:// or https://"},
		{"not a url", "the URL holds white space or a control character"},
		{"//example.com/a", "the URL does not start with http:// or https://"},
		{"http:/example.com", "the URL has no // after its scheme http"},
		{`http:\\example.com`, "the URL has no // after its scheme http"},
		{`http://example.com\a`, "the URL holds a backslash; write /"},
		{"http:///a", "the URL has no host"},
		{"http://a..b/", `the host "a..b" has an empty or overlong label`},
		{"http://a:99999/", `"99999" is not a port`},
		{"http://[fe80::1%25lo]/", `the host "[fe80::1%25lo]" is not an IPv6 address`},
		{"http://a%zz/", `the host "a%zz" holds a broken escape`},
		{"http://1.2.3.4.5/", `the host "1.2.3.4.5" ends in a number and is not an IPv4 address`},
		{"http://a<b>/", `the host "a<b>" holds a character that no domain name has`},
		{"http://a\x00b/", "the URL holds white space or a control character"},
		{"http://\xff/", "the URL is not UTF-8"},
	} {
		if got, err := Key(tt.in); err == nil || err.Error() != tt.reason {
			t.Errorf("Key(%q) = %q, %v; want the reason %q", tt.in, got, err, tt.reason)
		}
	}
}

func TestDomain(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "https://www.britannica.com/event/Fall-of-Constantinople-1453", "britannica.com"},
		{"subdomain", "https://en.wikipedia.org/wiki/X", "wikipedia.org"},
		{"other language", "https://de.wikipedia.org/wiki/X", "wikipedia.org"},
		{"second level", "https://a.co.uk/", "a.co.uk"},
		{"private section", "https://a.github.io/x", "a.github.io"},
		{"its neighbour", "https://b.github.io/x", "b.github.io"},
		{"gov", "https://www.nps.gov/", "nps.gov"},
		{"case and final dot", "https://WWW.EXAMPLE.COM./", "example.com"},
		{"port", "http://example.com:8080/", "example.com"},
		{"IDN", "https://www.bücher.example/", "xn--bcher-kva.example"},
		{"archived", "https://web.archive.org/web/20200101000000/https://www.nasa.gov/p", "nasa.gov"},
		{"archived, slashes folded", "https://web.archive.org/web/2020id_/http:/www.nasa.gov/p", "nasa.gov"},
		{"archived without scheme", "https://web.archive.org/web/2020/nasa.gov/p?x=1", "nasa.gov"},
		{"archived twice", "https://web.archive.org/web/2020/https://web.archive.org/web/2019/https://nasa.gov", "nasa.gov"},
		{"archived thrice, each otherwise", "https://web.archive.org/web/2020/https://www-nasa-gov.cdn.ampproject.org/c/s/www-nasa-gov.translate.goog/p", "nasa.gov"},
		{"archived, the latest copy", "https://web.archive.org/web/https://www.nasa.gov/p", "nasa.gov"},
		{"archived, without /web", "https://web.archive.org/https://www.nasa.gov/p", "nasa.gov"},
		{"archived, any time", "https://web.archive.org/web/2020*/https://www.nasa.gov/p", "nasa.gov"},
		{"being archived", "https://web.archive.org/save/https://www.nasa.gov/p", "nasa.gov"},
		{"archived, escaped", "https://web.archive.org/web/2020/HTTPS%3A%2F%2Fwww.nasa.gov%2Fp", "nasa.gov"},
		{"archived, half escaped", "https://web.archive.org/web/2020/https%3A//www.nasa.gov/p", "nasa.gov"},
		{"archived, behind dot segments", "https://web.archive.org/about/%2e./web/2020/https://www.nasa.gov/p", "nasa.gov"},
		{"archived, doubled slashes", "https://web.archive.org//web/2020//https://www.nasa.gov/p", "nasa.gov"},
		{"archived, with port and final dot", "https://web.archive.org.:443/web/2020/https://www.nasa.gov/p", "nasa.gov"},
		{"the archive's old name", "https://wayback.archive.org/web/2020/https://www.nasa.gov/p", "nasa.gov"},
		{"the archive itself", "https://web.archive.org/about", "archive.org"},
		{"the archive's home", "https://web.archive.org/", "archive.org"},
		{"another page of the archive", "https://archive.org/details/web/2020", "archive.org"},
		{"AMP cache", "https://www-nasa-gov.cdn.ampproject.org/c/s/www.nasa.gov/p", "nasa.gov"},
		{"AMP cache, bare", "https://cdn.ampproject.org/c/s/www.nasa.gov/p", "nasa.gov"},
		{"AMP cache, http", "https://www-nasa-gov.cdn.ampproject.org/v/www.nasa.gov/p", "nasa.gov"},
		{"AMP cache of Bing", "https://www-nasa-gov.bing-amp.com/c/s/www.nasa.gov/p", "nasa.gov"},
		{"the AMP project itself", "https://www.ampproject.org/c/s/x", "ampproject.org"},
		{"AMP viewer", "https://www.google.com/amp/s/www.nasa.gov/p", "nasa.gov"},
		{"translated", "https://en-m-wikipedia-org.translate.goog/wiki/X?_x_tr_sl=auto", "wikipedia.org"},
		{"translated with a hyphen", "https://my--site-org.translate.goog/", "my-site.org"},
		{"translated, hyphens at the third place", "https://0-ab--cd-org-0.translate.goog/", "ab-cd.org"},
		{"translated, the old way", "https://translate.google.com/translate?sl=de&u=https%3A%2F%2Fwww.nasa.gov%2Fp", "nasa.gov"},
		{"the translator itself", "https://translate.google.com/?text=u", "google.com"},
		{"unknown top level", "https://a.b.example/", "b.example"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Domain(tt.in)
			if err != nil || got != tt.want {
				t.Errorf("Domain(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestDomainRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, reason string }{
		{"credentials", "https://wikipedia.org@evil.com/x", "the URL holds credentials before its host"},
		{"address", "https://8.8.8.8/", "the host 8.8.8.8 is an IP address, which belongs to no domain"},
		{"single label", "https://localhost/", "the host localhost is a single label"},
		{"suffix", "https://co.uk/", "the host co.uk is a public suffix, which nobody owns"},
		{"scheme", "ftp://example.com/", "the URL does not start with http:// or https://"},
		{"empty", "", "the URL is empty"},
		{"credentials without a name", "https://@nasa.gov/", "the URL holds credentials before its host"},
		{"data", "data:text/html,https://nasa.gov/", "the URL does not start with http:// or https://"},
		{"script", "javascript:location='https://nasa.gov/'", "the URL does not start with http:// or https://"},
		{"zero-width space alone", "\u200b", "the URL does not start with http:// or https://"},
		{"two final dots", "https://nasa.gov../", `the host "nasa.gov.." has an empty or overlong label`},
		{"address, final dot", "http://127.0.0.1./", "the host 127.0.0.1 is an IP address, which belongs to no domain"},
		{"IPv6", "https://[2001:4860:4860::8888]:443/", "the host 2001:4860:4860::8888 is an IP address, which belongs to no domain"},
		{"IPv6 without brackets", "https://2001:4860:4860::8888/", `the host "2001:4860:4860:" holds a character that no domain name has`},
		{"copies of copies of copies", "https://web.archive.org/" + strings.Repeat("web/2020/https://web.archive.org/", 6) + "web/2020/https://nasa.gov/", "the URL is a copy of a copy more than five deep"},
		{"archived credentials", "https://web.archive.org/web/2020/https://nasa.gov@evil.com/", "the URL holds credentials before its host"},
		{"private suffix", "https://github.io/", "the host github.io is a public suffix, which nobody owns"},
		{"decimal", "http://2130706433/", "the host 127.0.0.1 is an IP address, which belongs to no domain"},
		{"hexadecimal", "http://0x7f.1/", "the host 127.0.0.1 is an IP address, which belongs to no domain"},
		{"short", "http://127.1/", "the host 127.0.0.1 is an IP address, which belongs to no domain"},
		{"octal", "http://0177.0.0.1/", "the host 127.0.0.1 is an IP address, which belongs to no domain"},
		{"full-width digits", "http://１２７.０.０.１/", "the host 127.0.0.1 is an IP address, which belongs to no domain"},
		{"circled letters", "http://ⓛocalhost/", "the host localhost is a single label"},
		{"mapped IPv6", "http://[::ffff:127.0.0.1]/", "the host ::ffff:127.0.0.1 is an IP address, which belongs to no domain"},
		{"archived address", "https://web.archive.org/web/2020/http://10.0.0.1/", "the host 10.0.0.1 is an IP address, which belongs to no domain"},
		{"archived nonsense", "https://web.archive.org/web/2020/a..b", `the page inside the copy: the host "a..b" has an empty or overlong label`},
		{"translated suffix", "https://co-uk.translate.goog/", "the host co.uk is a public suffix, which nobody owns"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := Domain(tt.in); err == nil || err.Error() != tt.reason {
				t.Errorf("Domain(%q) = %q, %v; want the reason %q", tt.in, got, err, tt.reason)
			}
		})
	}
}

func TestKeyIsItsOwnKey(t *testing.T) {
	part := rapid.StringOfN(rapid.RuneFrom([]rune("aZ09.-_~%2fF/?&=+é#;: utm_")), 0, 24, -1)
	rapid.Check(t, func(t *rapid.T) {
		raw := "http://www.example.com" + rapid.SampledFrom([]string{"", "/", "?", ":81/"}).Draw(t, "start") + part.Draw(t, "rest")
		key, err := Key(raw)
		if err != nil {
			return
		}
		if again, err := Key("http://" + key); err != nil || again != key {
			t.Fatalf("Key(%q) = %q, again %q, %v", raw, key, again, err)
		}
	})
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"https://a.github.io/x?b#c", "http://[::1]:80/", "https://web.archive.org/web/2/https://x.y/", "http://0x7f.1", "http://a@b.c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if domain, err := Domain(raw); err == nil {
			if !strings.Contains(domain, ".") || strings.ContainsAny(domain, "/:@ %") {
				t.Fatalf("Domain(%q) = %q", raw, domain)
			}
			if _, err := Key(raw); err != nil {
				t.Fatalf("%q has a domain and no key: %v", raw, err)
			}
		}
		if key, err := Key(raw); err == nil {
			if again, err := Key("http://" + key); err != nil || again != key {
				t.Fatalf("Key(%q) = %q, again %q, %v", raw, key, again, err)
			}
		}
	})
}
