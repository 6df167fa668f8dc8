package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	escaped "html"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/fetch"
)

// Variables of the environment that lead a process of these tests to a web of their
// own.
const (
	webServer = "PENSTOCK_TEST_WEB"       // address of the server that stands for all hosts
	webRoots  = "PENSTOCK_TEST_WEB_ROOTS" // file with the certificate that it is trusted by
)

// recordedWeb is the way to the web that the environment names: every name leads to
// one public address, which the address rule is asked about, and what is sent there
// comes to a server of the test. Zero where it names none.
func recordedWeb() fetch.Options {
	server, file := os.Getenv(webServer), os.Getenv(webRoots)
	if server == "" {
		return fetch.Options{}
	}
	roots := x509.NewCertPool()
	certificate, err := os.ReadFile(file)
	if err != nil || !roots.AppendCertsFromPEM(certificate) {
		panic("the certificate of the test's web: " + fmt.Sprint(err))
	}
	return fetch.Options{
		Roots: roots, Resolver: onePublicAddress{},
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Dial: func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
			if err := d.ControlContext(ctx, "tcp4", address, nil); err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, "tcp", server)
		},
	}
}

type onePublicAddress struct{}

func (onePublicAddress) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

// serveRecorded serves a cassette's pages under their own names, with TLS, for the
// rest of the test, and gives the variables that lead a process there.
func serveRecorded(t *testing.T, c *completion.Cassette) (env []string) {
	t.Helper()
	pages := map[string]*completion.RecordedPage{}
	moved := map[string]string{}
	for _, p := range c.Pages() {
		pages[p.Page.FinalURL] = p
		if len(p.Page.Hops) == 1 {
			moved[p.Page.Hops[0]] = p.Page.FinalURL
		}
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address := "https://" + r.Host + r.URL.RequestURI()
		if to := moved[address]; to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		page := pages[address]
		if page == nil {
			http.Error(w, "no such page is recorded", http.StatusNotFound)
			return
		}
		if page.Page.Verdict != dag.PageLive {
			w.WriteHeader(page.Page.Status)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><body><article>%s</article>", escaped.EscapeString(page.Text))
	}))
	issue, root := newIssuer(t)
	s.TLS = &tls.Config{GetCertificate: issue}
	s.StartTLS()
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(file, root, 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{webServer + "=" + s.Listener.Addr().String(), webRoots + "=" + file}
}

// newIssuer makes a root, and what gives each name a certificate of it.
func newIssuer(t *testing.T) (issue func(*tls.ClientHelloInfo) (*tls.Certificate, error), root []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the web of a test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	own, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	issued := map[string]*tls.Certificate{}
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if c := issued[hello.ServerName]; c != nil {
			return c, nil
		}
		leaf := &x509.Certificate{
			SerialNumber: big.NewInt(int64(2 + len(issued))), DNSNames: []string{hello.ServerName}, NotBefore: template.NotBefore, NotAfter: template.NotAfter,
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}
		signed, err := x509.CreateCertificate(rand.Reader, leaf, template, key.Public(), key)
		if err != nil {
			return nil, err
		}
		issued[hello.ServerName] = &tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}
		return issued[hello.ServerName], nil
	}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own})
}
