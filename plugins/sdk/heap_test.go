package sdk

import "testing"

func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		living uint64
		want   int
	}{
		{0, 800},
		{1 << 20, 800},  // the runtime's own least heap counts: 8 × 4 MB
		{4 << 20, 700},  // to 32 MB
		{8 << 20, 300},  // likewise
		{16 << 20, 200}, // to 48 MB
		{64 << 20, 200},
		{1 << 40, 200},
	} {
		if got := growth(c.living); got != c.want {
			t.Errorf("growth(%d) = %d, want %d", c.living, got, c.want)
		}
	}
}
