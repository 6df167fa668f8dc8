package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRequirementsHaveTests holds docs/requirements.md to the tests: every number
// has its row, every row has a test, and what proves a requirement is called by its
// number. That the files and functions exist is for TestLinks.
func TestRequirementsHaveTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "requirements.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([RNB]\d+) \| (.*) \|$`).FindAllStringSubmatch(string(text), -1) {
		if rows[m[1]] != "" {
			t.Errorf("%s stands there twice", m[1])
		}
		rows[m[1]] = m[2]
	}
	for kind, most := range map[string]int{"R": 75, "N": 13, "B": 8} {
		for n := 1; n <= most; n++ {
			row, ok := rows[fmt.Sprint(kind, n)]
			if !ok {
				t.Errorf("there is no row for %s%d", kind, n)
				continue
			}
			tests := link.FindAllStringSubmatch(row[strings.LastIndex(row, " | ")+1:], -1)
			if len(tests) == 0 {
				t.Errorf("%s%d has no test", kind, n)
			}
			numbered := kind != "R"
			for _, test := range tests {
				name := strings.ToUpper(test[1])
				numbered = numbered || regexp.MustCompile(fmt.Sprintf(`R(EQUIREMENT)?0?%d([^0-9]|$)`, n)).MatchString(name)
			}
			if !numbered {
				t.Errorf("no test of %s%d has the number in its name: %s", kind, n, row)
			}
		}
		if extra := rows[fmt.Sprint(kind, most+1)]; extra != "" {
			t.Errorf("%s%d is one too many: %s", kind, most+1, extra)
		}
	}
}
