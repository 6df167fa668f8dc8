package sdk

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A plugin lives on few megabytes and makes as much garbage as the documents that
// go through it: by default it would collect every few dozen of them. So it waits
// for a heap of this many bytes; where more than a third of that lives, it waits for
// three times what lives.
const (
	leastHeap   = 32 << 20
	leastGrowth = 200 // hundredths of what lives
	mostGrowth  = 800 // hundredths of the runtime's own least heap, 4 MB
)

// collectLate sets when garbage is collected, now and after each collection. Where
// the user has set GOGC, it does nothing.
func collectLate() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(mostGrowth)
	afterCollection(mostGrowth)
}

func afterCollection(set int) {
	runtime.AddCleanup(new([32]byte), func(was int) {
		next := growth(living())
		if before := debug.SetGCPercent(next); before != was {
			debug.SetGCPercent(before) // the author has said another
			return
		}
		afterCollection(next)
	}, set)
}

// growth is by how many hundredths a heap may grow of which so many bytes live.
func growth(living uint64) int {
	if living == 0 {
		return mostGrowth
	}
	more := (leastHeap - min(int64(living), leastHeap)) * 100 / int64(living)
	return int(min(max(more, leastGrowth), mostGrowth))
}

// living is how many bytes the last collection found alive.
func living() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
