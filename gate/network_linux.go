package gate

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// localDisk refuses a directory on a file system whose locks are not to be trusted.
func localDisk(dir string) error {
	var stat unix.Statfs_t
	if err := ignoringEINTR(func() error { return unix.Statfs(dir, &stat) }); err != nil {
		return fmt.Errorf("look at the file system: %w", err)
	}
	return trustedForLocks(uint32(stat.Type))
}
