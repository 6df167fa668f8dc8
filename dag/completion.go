package dag

// Completion names what is kept of one answer of a model that a visit was given:
// documents in the store, each by its digest.
type Completion struct {
	Origin  string // "live", "cache" or "cassette"
	Request Digest // what was asked: messages, schema, sampling
	Answer  Digest // what came of it: text, finish reason, both names of the model, usage, notes
	Raw     Digest // the server's own bytes; zero: none are kept
	Schema  Digest // of the answer, as the server got it; zero: as the stage asked for it

	// Keys are those under which the answer is given to equal requests. They are
	// of the run alone, and not kept with a visit.
	Keys []Digest
}

// Documents are the digests that are set.
func (c *Completion) Documents() []Digest {
	all := make([]Digest, 0, 4)
	for _, d := range []Digest{c.Request, c.Answer, c.Raw, c.Schema} {
		if !d.IsZero() {
			all = append(all, d)
		}
	}
	return all
}
