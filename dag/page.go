package dag

import "time"

// PageVerdict is what an address came to.
type PageVerdict string

// PageBlocked is kept apart from PageDead: the page may be there, but it is not
// shown to this program (403, a challenge, a wall of consent).
const (
	PageLive    PageVerdict = "live"
	PageDead    PageVerdict = "dead"
	PageBlocked PageVerdict = "blocked"
)

// Page is what reading an address came to, and a row of evidence. The zero
// verdict is none that a check may accept.
type Page struct {
	URL      string      `json:"url"`                // as it was asked for
	FinalURL string      `json:"final_url,omitzero"` // of the last answer, after redirects; empty where none came
	Status   int         `json:"status,omitzero"`    // of the last answer; 0 where none came
	Verdict  PageVerdict `json:"verdict"`
	Why      string      `json:"why,omitzero"`      // why it is not live: "status 404"
	At       time.Time   `json:"at"`                // of the last answer, UTC, milliseconds
	Digest   string      `json:"digest,omitzero"`   // SHA-256 of the bytes that were read, after decompression
	Attempts int         `json:"attempts,omitzero"` // requests for this address, redirects not counted
	Hops     []string    `json:"hops,omitempty"`    // addresses that redirected, in order, the first with them
	Exempt   []string    `json:"exempt,omitempty"`  // hosts that only allow_hosts let past the address rule
	Recorded bool        `json:"recorded,omitzero"` // answered by a cassette

	// NoAnswer tells that no server answered at all: name, route, connection, TLS,
	// time. When all addresses end like that, the fault may be on this side.
	NoAnswer bool `json:"no_answer,omitzero"`

	Text string `json:"-"` // what a reader of the page sees, decoded, of at most 64 KiB of it
}
