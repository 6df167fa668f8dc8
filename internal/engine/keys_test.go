package engine

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompareKeys(t *testing.T) {
	got := []string{"a:10", "a:2", "b", "a:02", "a:2/x", "", "a", "a:1", "10", "9"}
	slices.SortFunc(got, CompareKeys)
	want := []string{"", "9", "10", "a", "a:1", "a:2", "a:2/x", "a:02", "a:10", "b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
