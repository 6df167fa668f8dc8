//go:build !linux

package gate

// localDisk knows file systems by the numbers of Linux.
func localDisk(string) error { return nil }
