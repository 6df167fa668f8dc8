//go:build !linux

package staging

import "os"

// fdatasync makes what was written durable.
func fdatasync(f *os.File) error { return f.Sync() }
