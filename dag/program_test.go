package dag

import "testing"

func TestCleanProgram(t *testing.T) {
	for _, tt := range []struct{ a, b string }{ // one program in two spellings
		{"./x", "././x"},
		{"./x", ".//x"},
		{"./x", "./y/../x"},
		{"./x", "y/../x"},
		{"tools/x", "./tools/x"},
		{"../x", "./../x"},
		{"/opt/x", "/opt//./x"},
		{"python3 ./x.py --fast", "python3  ././x.py --fast"},
		{"builtin/openai", "builtin/openai"},
		{"python3", "python3"},
		{"", " "},
	} {
		if CleanProgram(tt.a) != CleanProgram(tt.b) {
			t.Errorf("%q is %q, and %q is %q", tt.a, CleanProgram(tt.a), tt.b, CleanProgram(tt.b))
		}
	}
	for _, tt := range []struct{ a, b string }{ // two programs
		{"./x", "./X"},
		{"./x", "../x"},
		{"./x", "/x"},
		{"./x", "x"}, // the latter is looked for on the search path
		{"python3 ./x.py", "python3 ./y.py"},
		{"./x a", "./x b"},
		{"builtin/openai", "./builtin/openai"},
		{"builtin/openai", "builtin/anthropic"},
	} {
		if CleanProgram(tt.a) == CleanProgram(tt.b) {
			t.Errorf("%q and %q are both %q", tt.a, tt.b, CleanProgram(tt.a))
		}
	}
}

// Two providers whose blocks spell one program in two ways are one.
func TestSameProvider(t *testing.T) {
	a := &Provider{Model: "m", Plugin: &Plugin{Source: "./models/one"}}
	b := &Provider{Model: "m", Plugin: &Plugin{Source: "././models/one"}}
	if !a.same(b) {
		t.Error("another spelling is taken for another program")
	}
	if b.Plugin.Source = "./models/two"; a.same(b) {
		t.Error("two programs are taken for one")
	}
}
