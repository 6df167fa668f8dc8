package host

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// stateKey names the state of a file: it changes with any write.
func stateKey(info fs.FileInfo) (string, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	return key(int64(s.Dev), int64(s.Ino), s.Size, s.Mtim.Nano(), s.Ctim.Nano()), true
}

// settled tells whether a later write would show in the file's times, whose
// clock ticks a hundred times a second on some kernels.
func settled(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && time.Since(time.Unix(s.Ctim.Unix())) > 2*time.Second
}

// ownImage is the path to execute for our own command: the running image, also
// where its file was replaced since.
func ownImage(self string) string {
	mine, err := os.Stat("/proc/self/exe")
	if err != nil {
		return self
	}
	theirs, err := os.Stat(self)
	if err == nil && !os.SameFile(mine, theirs) {
		return self
	}
	return "/proc/self/exe"
}
