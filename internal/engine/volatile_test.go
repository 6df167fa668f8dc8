package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutVolatile(t *testing.T) {
	const doc = `{"a/b":1,"at":"now","pages":[{"at":1,"url":"x"},{"at":2,"url":"y"}]}`
	for _, tt := range []struct {
		pointer, kept string
		notes         []string
	}{
		{"at", `{"a/b":1,"pages":[{"at":1,"url":"x"},{"at":2,"url":"y"}]}`, []string{`volatile at = "now"`}},
		{"/a~1b", `{"at":"now","pages":[{"at":1,"url":"x"},{"at":2,"url":"y"}]}`, []string{`volatile /a~1b = 1`}},
		{"/pages/1/at", `{"a/b":1,"at":"now","pages":[{"at":1,"url":"x"},{"url":"y"}]}`, []string{`volatile /pages/1/at = 2`}},
		{"/pages/1", doc, nil}, // what comes after would move up
		{"/pages/2/at", doc, nil},
		{"/none/at", doc, nil},
	} {
		t.Run(tt.pointer, func(t *testing.T) {
			kept, notes, err := withoutVolatile([]byte(doc), []string{tt.pointer})
			if err != nil || string(kept) != tt.kept {
				t.Errorf("kept %s, %v", kept, err)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
