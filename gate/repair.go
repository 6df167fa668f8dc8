package gate

// Repair is one thing that a repair did.
type Repair struct {
	Path string `json:"path"`
	Line int    `json:"line,omitzero"`
	What string `json:"what"`
}

func (r Repair) String() string { return Fault{Path: r.Path, Line: r.Line, What: r.What}.String() }
