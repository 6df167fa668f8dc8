package diag

import (
	"github.com/hashicorp/hcl/v2"
)

// Diagnostics are what everything configuration-shaped gives beside its value.
// The name stands here so that who only passes them on need not know HCL.
type Diagnostics = hcl.Diagnostics

// Info is what a diagnostic of Penstock knows besides HCL's own fields. It
// stands in hcl.Diagnostic.Extra; what stood there before is kept under it.
type Info struct {
	// Address names the block in words: `stage "verifier"`, `gate "accept",
	// check "leak"`. Empty: the place says enough.
	Address string
	// Related are other places that belong to the complaint, the first
	// declaration of a name that is declared twice for one.
	Related []Related
	// Cascade tells that this failed only because something else had failed,
	// which is complained of already. Such a diagnostic is not printed.
	Cascade bool

	under any
}

// Related is a second place of a complaint.
type Related struct {
	Label string // "first declared here"
	Range hcl.Range
}

// UnwrapDiagnosticExtra lets hcl.DiagnosticExtra look further down.
func (i *Info) UnwrapDiagnosticExtra() any { return i.under }

// InfoOf is what d carries, an empty Info where it carries none.
func InfoOf(d *hcl.Diagnostic) Info {
	if info, ok := hcl.DiagnosticExtra[*Info](d); ok && info != nil {
		return *info
	}
	return Info{}
}

// With puts info into d and gives d back. Fields that are empty in info keep
// what d said before.
func With(d *hcl.Diagnostic, info Info) *hcl.Diagnostic {
	old, ok := d.Extra.(*Info)
	if ok && old != nil {
		if info.Address == "" {
			info.Address = old.Address
		}
		if info.Related == nil {
			info.Related = old.Related
		}
		info.Cascade = info.Cascade || old.Cascade
		info.under = old.under
	} else {
		info.under = d.Extra
	}
	d.Extra = &info
	return d
}

// Error makes an error diagnostic. The summary is constant words, without a
// name of the user's; the detail says what, why here, and what to write instead.
func Error(at hcl.Range, summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at}
}

// Warning makes a warning diagnostic.
func Warning(at hcl.Range, summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagWarning, Summary: summary, Detail: detail, Subject: &at}
}

// Shown are the diagnostics that are printed, sorted by file and place: what
// cascades is left out, and so is a second copy of the same complaint.
func Shown(diags hcl.Diagnostics) hcl.Diagnostics {
	var shown hcl.Diagnostics
	for _, d := range diags {
		if d != nil && !InfoOf(d).Cascade {
			shown = append(shown, d)
		}
	}
	sortByPlace(shown)
	return dropRepeats(shown)
}
