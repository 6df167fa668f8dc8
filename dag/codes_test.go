package dag

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// TestEveryEngineCodeIsDescribed reads the constants from the source, so that a new
// one without a description fails.
func TestEveryEngineCodeIsDescribed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "failure.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	described := map[Code]CodeInfo{}
	for _, info := range EngineCodes() {
		if _, twice := described[info.Code]; twice {
			t.Errorf("%s is described twice", info.Code)
		}
		described[info.Code] = info
		if !strings.HasSuffix(info.Meaning, ".") || !strings.HasSuffix(info.Do, ".") {
			t.Errorf("%s: its meaning and what to do are sentences: %q, %q", info.Code, info.Meaning, info.Do)
		}
	}
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING || !strings.HasPrefix(lit.Value, `"E_`) {
			return true
		}
		code, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		declared++
		if _, ok := described[Code(code)]; !ok {
			t.Errorf("%s is not described", code)
		}
		return true
	})
	if declared != len(described) || declared < 20 {
		t.Errorf("%d codes are declared, %d described", declared, len(described))
	}
}

func TestCodeUses(t *testing.T) {
	stage := &Stage{Name: "s", Code: "A", MustCode: "B", FanOut: &FanOut{Code: "A"}, Findings: &FindingMap{Codes: map[string]Code{"thin": "B", "old": "A"}}}
	arm := &Arm{Kind: ArmWhen, Branches: []Branch{{Arm: &Arm{Kind: ArmStop, Code: "A"}}}, Else: &Arm{Kind: ArmStage, Exhausted: &Arm{Code: "B"}}}
	g := &Graph{
		Sources: []*Source{{Name: "in", Code: "A"}}, Stages: []*Stage{stage}, Routes: []*Route{{Name: "r", To: arm}},
		Gate: &Gate{Name: "g", Checks: []*Check{{Kind: "leak", Code: "A"}}},
	}
	for code, want := range map[Code][]string{
		"A": {`source "in"`, `stage "s"`, `fan_out of stage "s"`, `findings of stage "s", for the word "old"`, `route "r"`, `check "leak" of gate "g"`},
		"B": {`must_change of stage "s"`, `findings of stage "s", for the word "thin"`, `route "r"`},
		"C": nil,
	} {
		var got []string
		for _, use := range g.CodeUses(code) {
			got = append(got, use.What)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: got %q, want %q", code, got, want)
		}
	}
}
