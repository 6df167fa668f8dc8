package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// Votes count for a candidate only where they say the word, and enough of them do.
func TestVotes(t *testing.T) {
	const three = 3
	for _, tt := range []struct {
		name     string
		verdicts any
		args     map[string]dag.Expr
		holds    bool
		why      string
	}{
		{"all of three", []string{"accept", "accept", "accept"}, nil, true, ""},
		{"two of three", []string{"accept", "reject", "accept"}, nil, true, ""},
		{"one of three", []string{"accept", "reject", "repair"}, nil, false, `1 of 3 votes are "accept" (accept 1, reject 1, repair 1); 2 must be`},
		{"half is not more than half", []string{"accept", "reject"}, nil, false, `1 of 2 votes are "accept" (accept 1, reject 1); 2 must be`},
		{"agreed against it", []string{"reject", "reject", "reject"}, map[string]dag.Expr{"of": val(three), "agree": val(2)}, false, `0 of 3 votes are "accept" (reject 3); 2 must be`},
		{"all must agree", []string{"accept", "accept", "reject"}, map[string]dag.Expr{"agree": val(3)}, false, `2 of 3 votes are "accept" (accept 2, reject 1); 3 must be`},
		{"one is enough", []string{"accept", "reject", "reject"}, map[string]dag.Expr{"agree": val(1)}, true, ""},
		{"a vote is missing", []string{"accept", "accept"}, map[string]dag.Expr{"of": val(three), "agree": val(2)}, false, "there are 2 verdicts, not 3"},
		{"one vote more", []string{"accept", "accept", "accept", "accept"}, map[string]dag.Expr{"of": val(three)}, false, "there are 4 verdicts, not 3"},
		{"another word", []string{"keep", "keep", "drop"}, map[string]dag.Expr{"verdict": val("keep")}, true, ""},
		{"no votes", []string{}, nil, false, `0 of 0 votes are "accept" (there is none); 1 must be`},
		{"nothing said", []any{nil, "", "accept"}, nil, false, `1 of 3 votes are "accept" (accept 1, none 2); 2 must be`},
		{"nearly the word", []string{"Accept", " accept", "accept.", "accept\u200b"}, map[string]dag.Expr{"agree": val(1)}, false, "0 of 4 votes are \"accept\" (Accept 1, accept 1, accept. 1, accept\u200b 1); 1 must be"},
		{"a number", []any{1, "accept", "accept"}, nil, false, ""},
		{"a bool", []any{true, true, true}, nil, false, ""},
		{"a text", "accept", nil, false, ""},
		{"an object", map[string]string{"0": "accept"}, nil, false, ""},
		{"null", nil, nil, false, "E_EXPR: verdicts is null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := &dag.Check{Kind: "votes", Code: "R", Args: map[string]dag.Expr{"verdicts": val(tt.verdicts)}}
			for name, arg := range tt.args {
				check.Args[name] = arg
			}
			g := mustOpen(t, options(t, t.TempDir(), plain(check)))
			v := judge(t, g, question("1", "One?"))[0]
			if v.Err != nil || (v.End == dag.Accepted) != tt.holds {
				t.Fatalf("%s: %s %v", v.End, v.Message, v.Err)
			}
			if !tt.holds && tt.why != "" && v.Details[0].Why != tt.why {
				t.Errorf("%q, want %q", v.Details[0].Why, tt.why)
			}
		})
	}
}

// How the votes stood is in the evidence of what was accepted.
func TestVotesLeaveTheirSpread(t *testing.T) {
	dir := t.TempDir()
	spec := plain(&dag.Check{Kind: "votes", Code: "R", Args: map[string]dag.Expr{"verdicts": val([]string{"accept", "reject", "accept"}), "of": val(3)}})
	spec.Corpus.EvidenceRecord = object(map[string]dag.Expr{"votes": get("checks.votes")})
	g := mustOpen(t, options(t, dir, spec))
	v := judge(t, g, question("1", "One?"))[0]
	if v.End != dag.Accepted {
		t.Fatalf("%+v", v)
	}
	got, _, err := valueAt([]byte(lines(t, dir, "meta/verification.jsonl")[0]), jsonPointer("votes"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"agree":2,"figure":2,"of":3,"spread":{"accept":2,"reject":1},"state":"held"}`, string(got)); diff != "" {
		t.Errorf("the evidence (-want +got):\n%s", diff)
	}
	if c := v.Checks[0]; c.Evidence != `2 of 3 votes are "accept" (accept 2, reject 1)` || *c.Figure != 2 {
		t.Errorf("the check says %q", c.Evidence)
	}
}

func TestVotesThatCannotBe(t *testing.T) {
	for want, args := range map[string]map[string]dag.Expr{
		`agree is 4 of 3: no candidate would pass`:                                                                        {"of": val(3), "agree": val(4)},
		`of is 0; it must be a whole number of at least 1`:                                                                {"of": val(0)},
		`agree is 1.5; it must be a whole number of at least 1`:                                                           {"agree": val(1.5)},
		`verdict is blank: a vote that says nothing would be for the candidate; write the word that is, such as "accept"`: {"verdict": val(" ")},
	} {
		check := &dag.Check{Kind: "votes", Args: map[string]dag.Expr{"verdicts": val(nil)}}
		for name, arg := range args {
			check.Args[name] = arg
		}
		if _, err := newVotesCheck(check); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
