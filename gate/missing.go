package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tellMissing says which data files are gone, or shorter than the last checkpoint left
// them. A batch looks at the files that it writes to and no others, so a run with
// nothing to write would else say that all is as it was. It is said and no more:
// what is wrong with one data file holds up the candidates of its bucket alone.
func tellMissing(dir string, files map[string]fileState, report func(string)) {
	first, more := "", 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(name, metaDir+"/") {
			continue // each opening looks at those, and stops at what it finds
		}
		had := files[name].Size
		info, err := os.Stat(filepath.Join(dir, name))
		what := ""
		switch {
		case errors.Is(err, fs.ErrNotExist) && had > 0:
			what = "is gone"
		case err == nil && info.Size() < had:
			what = fmt.Sprintf("had %d bytes and has %d", had, info.Size())
		default: // what cannot be looked at is told by whoever needs it
			continue
		}
		if first == "" {
			first = name + " " + what
		} else {
			more++
		}
	}
	switch {
	case first == "":
		return
	case more == 1:
		first += ", and 1 more is gone or shorter"
	case more > 1:
		first += fmt.Sprintf(", and %d more are gone or shorter", more)
	}
	report(first + ": penstock audit says what was in there")
}
