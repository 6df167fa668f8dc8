package fetch

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
)

const (
	maxBody = 64 << 10  // of what a page is, after decompression
	maxWire = 128 << 10 // of what comes in: a stream that unpacks to nothing ends too
)

// body is the beginning of what a server sent.
type body struct {
	bytes  []byte
	cut    bool // there may be more of it
	sealed bool // in a coding that this program cannot undo
}

var errCoding = errors.New("the body is not in the coding that its header names")

// readBody reads the beginning of a body. An error is of the connection, or says
// that nothing of the body could be unpacked.
func readBody(resp *http.Response) (body, error) {
	wire := &wire{r: resp.Body, left: maxWire}
	plain, sealed, err := unpack(wire, resp.Header.Values("Content-Encoding"))
	var b body
	if err == nil {
		b.sealed = sealed
		b.bytes, err = io.ReadAll(io.LimitReader(plain, maxBody))
	}
	b.cut = len(b.bytes) == maxBody || resp.StatusCode == http.StatusPartialContent
	switch {
	case len(b.bytes) == maxBody:
		return b, nil
	case wire.err != nil:
		return b, wire.err
	case err != nil && len(b.bytes) > 0:
		b.cut = true // a range of a packed body ends anywhere
		return b, nil
	case err != nil && wire.left < maxWire:
		return b, errCoding
	}
	return b, nil
}

// wire counts what comes in, and keeps the connection's error apart from those of
// the codings above it.
type wire struct {
	r    io.Reader
	left int
	err  error
}

func (w *wire) Read(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.left == 0 {
		return 0, io.EOF
	}
	n, err := w.r.Read(p[:min(len(p), w.left)])
	w.left -= n
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// unpack undoes the codings of a body, the last applied first. Nobody who means
// well applies more than two.
func unpack(r io.Reader, headers []string) (plain io.Reader, sealed bool, err error) {
	var codings []string
	for coding := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		if coding = strings.ToLower(strings.TrimSpace(coding)); coding != "" && coding != "identity" {
			codings = append(codings, coding)
		}
	}
	for _, coding := range codings {
		if !packings[coding] || len(codings) > 2 {
			return r, true, nil
		}
	}
	for i := len(codings) - 1; i >= 0 && err == nil; i-- {
		if codings[i] == "deflate" {
			r, err = inflate(r)
		} else {
			r, err = gzip.NewReader(r)
		}
	}
	return r, false, err
}

var packings = map[string]bool{"gzip": true, "x-gzip": true, "deflate": true}

// inflate reads both forms that servers call deflate: with the header of zlib, as
// the standard has it, and without.
func inflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}
