package completion

import (
	"testing"
	"time"
)

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 250 * time.Millisecond: "300ms", 7 * time.Second: "7s", 30 * time.Second: "30s", 60 * time.Second: "1m", 65 * time.Second: "1m5s",
		10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Minute: "1h30m", time.Hour + 5*time.Second: "1h0m5s", 24 * time.Hour: "24h",
	} {
		if got := Brief(d); got != want {
			t.Errorf("%s is told as %s, want %s", d, got, want)
		}
	}
}
