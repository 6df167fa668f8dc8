package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/go-json-experiment/json"
)

// checkEnds holds what a run left in its folder against the script: each item
// that the script lets end badly has its row among the rejections, with its
// codes, cause and status, no other item has one, and the rest is accepted.
func checkEnds(script *Script, work string) error {
	want := map[string]Expect{}
	for _, b := range script.Batches {
		if b.Expect != nil {
			want[b.key()] = *b.Expect
			continue
		}
		for _, c := range b.Candidates {
			if c.Expect != nil {
				want[b.key()+"/"+c.topicID()] = *c.Expect
			}
		}
	}
	err := eachLine(filepath.Join(work, "meta", "rejections.jsonl"), func(row []byte) error {
		var r struct {
			Item, End, Status string
			Codes             []string
			Detail            []struct{ Cause string }
		}
		if err := json.Unmarshal(row, &r, json.MatchCaseInsensitiveNames(true)); err != nil {
			return err
		}
		got := Expect{End: r.End, Status: r.Status}
		if len(r.Codes) > 0 {
			got.Codes = r.Codes
		}
		if len(r.Detail) > 0 {
			got.Cause = r.Detail[0].Cause
		}
		if !reflect.DeepEqual(got, want[r.Item]) {
			return fmt.Errorf("%s ends %s by the run, %s by the script", r.Item, got, want[r.Item])
		}
		delete(want, r.Item)
		return nil
	})
	if err != nil {
		return err
	}
	for item, e := range want {
		return fmt.Errorf("%s ends %s by the script, and has no row among the rejections", item, e)
	}
	accepted := 0
	err = eachLine(filepath.Join(work, "meta", "verification.jsonl"), func([]byte) error { accepted++; return nil })
	if n := script.tally()["accepted"]; err == nil && accepted != n {
		err = fmt.Errorf("%d cards are accepted by the run, %d by the script", accepted, n)
	}
	return err
}

func eachLine(path string, do func([]byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	rows := bufio.NewScanner(f)
	rows.Buffer(nil, 1<<20)
	for rows.Scan() {
		if err := do(rows.Bytes()); err != nil {
			return err
		}
	}
	return rows.Err()
}
