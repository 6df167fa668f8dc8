package staging

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func TestHistory(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{RunID: "r1"})
	check(t, err)
	sum := func(text string) dag.Digest { return dag.Sum([]byte(text)) }
	for _, put := range []struct{ key, item, run string }{
		{"1", "music", "r1"}, {"2", "music/1", "r1"}, {"3", "musical", "r1"}, {"4", "music", "r2"}, {"4", "music", "r3"},
	} {
		check(t, s.PutTrail(&Trail{Key: sum(put.key), Source: "s", ItemKey: put.item, Run: put.run, Body: []byte(put.run)}))
	}
	for _, a := range []struct{ digest, stage, input string }{
		{"a", "write", "x"}, {"b", "write", "y"}, {"c", "judge", "x"}, {"d", "write", "x"},
	} {
		check(t, s.PutAction(&Action{Digest: sum(a.digest), Stage: a.stage, Input: sum(a.input), Output: sum("out"), Word: a.digest}))
	}
	check(t, s.Flush())

	r, err := Open(dir, Options{ReadOnly: true}) // beside the other, which holds the store
	check(t, err)
	defer func() { check(t, r.Close()); check(t, s.Close()) }()
	for key, want := range map[string][]string{
		"music": {"r1", "r2", "r3"}, "music/1": {"r1", "r1", "r2", "r3"}, "music/1/t": {"r1", "r1", "r2", "r3"},
		"musical": {"r1"}, "mus": nil, "": nil,
	} {
		trails, err := r.History(key)
		check(t, err)
		var got []string
		for _, trail := range trails {
			got = append(got, trail.Run)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", key, diff)
		}
	}
	var bodies []string
	check(t, r.Bodies(func(body []byte) { bodies = append(bodies, string(body)) }))
	if diff := cmp.Diff([]string{"r1", "r1", "r1", "r2", "r3"}, bodies); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		first, stage, input, want string
	}{
		{"d", "write", "x", "a"}, // of the same input, though another is later
		{"d", "write", "z", "b"},
		{"a", "write", "x", ""},
		{"d", "repair", "x", ""},
	} {
		found, before, err := r.FindActions(map[dag.Digest]bool{sum("c"): true, sum("gone"): true}, sum(test.first), test.stage, sum(test.input))
		check(t, err)
		got := ""
		if before != nil {
			got = before.Word
		}
		if got != test.want || len(found) != 1 || found[sum("c")].Word != "c" {
			t.Errorf("before %s of %s: %q, want %q; found %v", test.first, test.stage, got, test.want, found)
		}
	}
	if _, before, err := r.FindActions(nil, dag.Digest{}, "write", sum("x")); err != nil || before != nil {
		t.Errorf("nothing was asked for: %v, %v", before, err)
	}
}

func TestHistoryOfNothing(t *testing.T) {
	s, err := Open(t.TempDir(), Options{ReadOnly: true})
	check(t, err)
	if trails, err := s.History("a"); err != nil || trails != nil {
		t.Errorf("%v, %v", trails, err)
	}
	if found, before, err := s.FindActions(map[dag.Digest]bool{{1}: true}, dag.Digest{1}, "s", dag.Digest{}); err != nil || len(found) > 0 || before != nil {
		t.Errorf("%v, %v, %v", found, before, err)
	}
}
