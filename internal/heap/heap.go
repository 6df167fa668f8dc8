// Package heap sets when this program collects its garbage. cmd/penstock imports
// it for that effect, and nothing else does.
//
// It refuses to know better than the user: where GOGC is set, it does nothing.
// It imports nothing that is large: Go initialises a package as soon as what it
// imports is ready, and the first collection would come while the other packages
// are still being initialised.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
)

// The first collection waits for a heap of 32 MB: most commands end before, and
// two or three collections are a tenth of what they cost. From then on it is as
// by default: at half as much again the collections of a run cost a hundredth of
// its time less, and its peak is a tenth higher.
const first, later = 800, 100 // hundredths: of the least heap, 4 MB; of what lives

func init() {
	if os.Getenv("GOGC") != "" || len(os.Args) > 2 && os.Args[1] == "plugin" && os.Args[2] == "serve" {
		return // a bundled plugin's heap is the SDK's to set
	}
	debug.SetGCPercent(first)
	runtime.AddCleanup(new([32]byte), func(percent int) { // at the first collection
		if was := debug.SetGCPercent(percent); was != first {
			debug.SetGCPercent(was) // somebody has said another since
		}
	}, later)
}
