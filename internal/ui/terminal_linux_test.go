package ui

import (
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal: what is printed to its end can be read here.
func terminal(t *testing.T) (here, end *os.File) {
	t.Helper()
	here, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = here.Close() })
	if err := unix.IoctlSetPointerInt(int(here.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(here.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	end, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = end.Close() })
	return here, end
}

// shown is what the terminal got: so many bytes of it.
func shown(t *testing.T, here *os.File, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(here, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	here, end := terminal(t)
	if p := New(end, end, false, false); !p.Colour() || !p.Live() {
		t.Errorf("on a terminal: colour %v, live %v", p.Colour(), p.Live())
	}
	if New(end, end, true, false).Colour() {
		t.Error("JSON is coloured")
	}
	if New(end, end, false, true).Colour() {
		t.Error("--no-color is not obeyed")
	}
	t.Setenv("NO_COLOR", "1")
	p := New(end, end, false, false)
	if p.Colour() {
		t.Error("NO_COLOR is not obeyed")
	}
	p.Footer("half")
	p.Note("done")
	// The footer is taken away before the line, which stands on its own.
	want := "\r\x1b[Khalf\r\x1b[Kdone\r\n"
	if got := shown(t, here, len(want)); got != want {
		t.Errorf("the terminal got %q, not %q", got, want)
	}
}
