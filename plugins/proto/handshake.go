package proto

// The handshake of hashicorp/go-plugin, and the limits that both sides keep.
const (
	// CookieKey and CookieValue stand in the environment of a plugin that was
	// started by a host: a courtesy to people who start one by hand, no secret.
	CookieKey   = "PENSTOCK_PLUGIN"
	CookieValue = "a5c1f30b8d2e4976"

	// Version is the protocol version of this package: the second field of the
	// handshake line.
	Version = 1

	// MaxMessage bounds one message, in bytes, in both directions.
	MaxMessage = 64 << 20

	// StreamWindow and ConnWindow are how much of a stream and of a connection,
	// in bytes, may be on its way unread. gRPC would find them itself, by a ping
	// for each message, which costs more than the message where the other side is
	// on the same machine.
	StreamWindow = 4 << 20
	ConnWindow   = 16 << 20

	// MaxBatch bounds the tasks, or the results, in one message.
	MaxBatch = 64

	// Window is how many visits a host has unanswered at one process.
	Window = 256
)
