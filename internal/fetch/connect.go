package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Resolver looks names up. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// lookupError is a name that led to no address.
type lookupError struct {
	host string
	none bool // it is known that there is none
	err  error
}

func (e *lookupError) Unwrap() error { return e.err }
func (e *lookupError) Error() string {
	if e.none {
		return fmt.Sprintf("the name %s does not exist", e.host)
	}
	return fmt.Sprintf("the name %s could not be looked up", e.host)
}

// tlsError is a handshake that came to nothing.
type tlsError struct{ err error }

func (e *tlsError) Unwrap() error { return e.err }
func (e *tlsError) Error() string { return "TLS: " + strings.TrimPrefix(e.err.Error(), "tls: ") }

// maxAddresses is how many addresses of one name are tried.
const maxAddresses = 8

// connect opens a connection to a target. The look-up and the connection together
// have the time that a connection has; the handshake counts with the headers.
func (c *Client) connect(ctx context.Context, t *target, deadline time.Time) (net.Conn, error) {
	limit := earlier(time.Now().Add(c.limits.connect), deadline)
	dialing, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	addrs, err := c.addresses(dialing, t)
	if err != nil {
		return nil, err
	}
	conn, err := c.dialAny(dialing, t, addrs, limit)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(earlier(time.Now().Add(c.limits.headers), deadline))
	if t.url.Scheme != "https" {
		return conn, nil
	}
	secure := tls.Client(conn, &tls.Config{ServerName: t.host, RootCAs: c.roots, NextProtos: []string{"http/1.1"}})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, &tlsError{err}
	}
	return secure, nil
}

func (c *Client) addresses(ctx context.Context, t *target) ([]netip.Addr, error) {
	if t.ip.IsValid() {
		return []netip.Addr{t.ip}, nil
	}
	name := t.host
	if c.absolute && t.exempt == "" {
		name += "."
	}
	addrs, err := c.resolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		var dns *net.DNSError
		return nil, &lookupError{t.host, errors.As(err, &dns) && dns.IsNotFound, err}
	}
	if len(addrs) == 0 {
		return nil, &lookupError{t.host, true, nil}
	}
	return addrs[:min(len(addrs), maxAddresses)], nil
}

// dialAny tries the addresses one after the other, each with its share of the time
// that is left, so that one that swallows packets leaves the others some.
func (c *Client) dialAny(ctx context.Context, t *target, addrs []netip.Addr, limit time.Time) (net.Conn, error) {
	var failed error
	for i, addr := range addrs {
		share := time.Until(limit) / time.Duration(len(addrs)-i)
		one, cancel := context.WithTimeout(ctx, share)
		conn, err := c.dial(one, c.dialer(t), netip.AddrPortFrom(addr.Unmap(), t.port).String())
		cancel()
		if err == nil {
			return conn, nil
		}
		if failed == nil || errors.Is(failed, errRefused) && !errors.Is(err, errRefused) {
			failed = err // an address that was refused does not hide what became of a public one
		}
	}
	return nil, failed
}

// dialer asks the address rule at the last moment: what is judged is what the
// kernel is about to connect to, whatever a name resolved to before.
func (c *Client) dialer(t *target) *net.Dialer {
	return &net.Dialer{
		KeepAlive: -1,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return refuse("the address %q is none that can be judged", address)
			}
			if to.Port() != t.port {
				return refuse("the port %s is not the one that was judged", strconv.Itoa(int(to.Port())))
			}
			if err := public(to.Addr()); err != nil {
				if t.exempt == "" {
					return err
				}
				t.used = true
			}
			return nil
		},
	}
}

func dialTCP(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
	return d.DialContext(ctx, "tcp", address)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
