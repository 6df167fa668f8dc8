package wire

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"mime"
	"unicode/utf8"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// Event is one event of a stream.
type Event struct {
	Name string // empty: none was given
	Data []byte // good until the next event
}

// Streams tells whether the answer is a stream of events. A server that was
// asked for one may answer in one piece.
func (a *Answer) Streams() bool {
	kind, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	return err == nil && (kind == "text/event-stream" || kind == "application/x-ndjson")
}

// Whole reads an answer that comes in one piece. One that is not UTF-8 is an error,
// as in [Lines].
func (a *Answer) Whole() ([]byte, error) {
	body, err := io.ReadAll(a)
	if err == nil && !utf8.Valid(body) {
		return nil, Garbled(body)
	}
	return body, err
}

// Events reads server-sent events. It ends with the body: whether the last event
// was the end mark is for its reader to know.
func Events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var event Event
		for line, err := range Lines(r) {
			if err != nil {
				yield(Event{}, err)
				return
			}
			if len(line) == 0 {
				if event.Data != nil && !yield(event, nil) {
					return
				}
				event = Event{}
				continue
			}
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) {
			case "event":
				event.Name = string(value)
			case "data":
				if event.Data != nil {
					event.Data = append(event.Data, '\n')
				}
				event.Data = append(event.Data, value...)
				if event.Data == nil {
					event.Data = []byte{}
				}
			}
		}
		if event.Data != nil { // an event that the body's end cut short of its empty line
			yield(event, nil)
		}
	}
}

// Lines reads a body line by line, without the line's end. An empty last line is
// none, and so is one that the reader's error has cut. A line that is not UTF-8 is an
// error: encoding/json would put U+FFFD in place of what cannot be read, and nobody
// would see that the answer is not the one that the model gave.
func Lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		from := &failing{from: r}
		lines := bufio.NewScanner(from)
		lines.Buffer(make([]byte, 0, 16<<10), mostAnswer)
		lines.Split(func(data []byte, last bool) (int, []byte, error) {
			if from.failed && bytes.IndexByte(data, '\n') < 0 {
				return len(data), nil, nil // the end of the body and its cut look alike to a scanner
			}
			return bufio.ScanLines(data, last)
		})
		for lines.Scan() {
			if !utf8.Valid(lines.Bytes()) {
				yield(nil, Garbled(lines.Bytes()))
				return
			}
			if !yield(lines.Bytes(), nil) {
				return
			}
		}
		switch err := lines.Err(); err {
		case nil:
		case bufio.ErrTooLong:
			yield(nil, sdk.Unavailable("a line of the answer is longer than %d MiB", mostAnswer>>20))
		default:
			yield(nil, err)
		}
	}
}

// failing remembers that reading has failed.
type failing struct {
	from   io.Reader
	failed bool
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	f.failed = f.failed || err != nil && err != io.EOF
	return n, err
}
