package wire

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// TestUsageThatCannotBe is taken as far as it can be, and told.
func TestUsageThatCannotBe(t *testing.T) {
	for _, tt := range []struct {
		name        string
		told, taken [5]int64 // input, output, cached input, written to the cache, reasoning
		notes       []string
	}{
		{"as it may be", [5]int64{9, 3, 4, 5, 3}, [5]int64{9, 3, 4, 5, 3}, nil},
		{"less than none", [5]int64{-4, math.MinInt64}, [5]int64{}, []string{
			"the server's usage tells -4 tokens of input, which is taken as none",
			"the server's usage tells -9223372036854775808 tokens of output, which is taken as none"}},
		{"more than any call has", [5]int64{1e18, 1}, [5]int64{1 << 40, 1}, []string{
			"the server's usage tells 1000000000000000000 tokens of input, which cannot be: it is taken as 1099511627776"}},
		{"a part of more than the whole", [5]int64{0, 3, 0, 0, 4}, [5]int64{0, 3, 0, 0, 3}, []string{
			"the server's usage tells 4 tokens of reasoning, more than its 3 of output"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u, notes := Usage(&sdk.Usage{Input: tt.told[0], Output: tt.told[1], CachedInput: tt.told[2], CacheWrite: tt.told[3], Reasoning: tt.told[4]}, nil)
			if diff := cmp.Diff(tt.taken, [5]int64{u.Input, u.Output, u.CachedInput, u.CacheWrite, u.Reasoning}); diff != "" {
				t.Errorf("taken (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
