package diag

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// sortByPlace orders by file, then by place; what has no place comes first.
// The order of decoding is not the order of reading, so nobody sorts earlier.
func sortByPlace(diags hcl.Diagnostics) {
	slices.SortStableFunc(diags, func(a, b *hcl.Diagnostic) int {
		ra, rb := subject(a), subject(b)
		return cmp.Or(
			cmp.Compare(ra.Filename, rb.Filename),
			cmp.Compare(ra.Start.Line, rb.Start.Line),
			cmp.Compare(ra.Start.Column, rb.Start.Column),
			cmp.Compare(int(a.Severity), int(b.Severity)),
		)
	})
}

func dropRepeats(sorted hcl.Diagnostics) hcl.Diagnostics {
	return slices.CompactFunc(sorted, func(a, b *hcl.Diagnostic) bool {
		return a.Severity == b.Severity && a.Summary == b.Summary && a.Detail == b.Detail && subject(a) == subject(b)
	})
}

func subject(d *hcl.Diagnostic) hcl.Range {
	if d.Subject == nil {
		return hcl.Range{}
	}
	return *d.Subject
}

// Count is how many errors and warnings are printed.
func Count(diags hcl.Diagnostics) (errors, warnings int) {
	for _, d := range Shown(diags) {
		if d.Severity == hcl.DiagError {
			errors++
		} else {
			warnings++
		}
	}
	return errors, warnings
}
