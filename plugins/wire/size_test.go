package wire

import "testing"

func TestSizeOf(t *testing.T) {
	known := map[string]Size{"m-4": {200, 20}, "m-4-2024-05-13": {100, 10}}
	for model, want := range map[string]Size{
		"m-4": {200, 20}, "m-4-20250514": {200, 20}, "m-4-2025-05-14": {200, 20}, "m-4-2024-05-13": {100, 10},
		"m-4-1": {}, "m-4-mini": {}, "m": {}, "m-4-2025": {}, "": {},
	} {
		if got := SizeOf(known, model); got != want {
			t.Errorf("%q: got %v, want %v", model, got, want)
		}
	}
}
