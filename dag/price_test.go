package dag

import (
	"testing"

	"pgregory.net/rapid"
)

func TestPriceOf(t *testing.T) {
	price := &Price{Input: 3, CachedInput: 0.3, CacheWrite: new(3.75), Output: 15}
	tests := []struct {
		name string
		of   Tokens
		want float64
	}{
		{"nothing", Tokens{}, 0},
		{"input", Tokens{Input: 1_000_000}, 3},
		{"all of it cached", Tokens{Input: 1_000_000, Cached: 1_000_000}, 0.3},
		{"half of it cached", Tokens{Input: 1_000_000, Cached: 500_000, Output: 100_000}, 3.15},
		{"read and written", Tokens{Input: 1_000_000, Cached: 400_000, Written: 200_000, Output: 200_000}, 5.07},
		{"more cached than read", Tokens{Input: 10, Cached: 1_000_000}, 0.000003},
		{"more written than is left", Tokens{Input: 10, Cached: 4, Written: 1_000_000}, 0.0000237},
	}
	for _, test := range tests {
		if got := price.Of(test.of); got < test.want-1e-12 || got > test.want+1e-12 {
			t.Errorf("%s: %+v costs %v, want %v", test.name, test.of, got, test.want)
		}
	}
	free := &Price{Input: 3, CachedInput: 0.3, CacheWrite: new(0.0), Output: 15}
	if got := free.Of(Tokens{Input: 1_000_000, Written: 1_000_000}); got != 0 {
		t.Errorf("what is kept costs %v by a price of 0 for it", got)
	}
	old := &Price{Input: 3, CachedInput: 0.3, Output: 15} // as a run of an older version left it
	if got := old.Of(Tokens{Input: 1_000_000, Written: 1_000_000}); got != 3 {
		t.Errorf("what is kept costs %v by a price that does not tell, want 3", got)
	}
}

func TestNothingCostsMoreThanAtMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		usd := rapid.Float64Range(0, 100)
		price := &Price{Input: usd.Draw(t, "input"), CachedInput: usd.Draw(t, "cached"), CacheWrite: new(usd.Draw(t, "write")), Output: usd.Draw(t, "output")}
		most := rapid.IntRange(0, 1_000_000)
		input, output := most.Draw(t, "most in"), most.Draw(t, "most out")
		of := Tokens{Input: rapid.IntRange(0, input).Draw(t, "in"), Cached: most.Draw(t, "of it cached"), Written: most.Draw(t, "of it written"), Output: rapid.IntRange(0, output).Draw(t, "out")}
		if got, bound := price.Of(of), price.AtMost(input, output); got > bound*(1+1e-12) || got < 0 {
			t.Fatalf("%+v costs %v, at most %v", of, got, bound)
		}
	})
}
