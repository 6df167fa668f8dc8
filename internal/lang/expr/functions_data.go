package expr

import (
	"errors"
	"fmt"
	"io/fs"
	slashpath "path"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/schema"
)

// anything is a parameter that takes every value, null too.
func anything(name string) function.Parameter {
	return function.Parameter{Name: name, Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}
}

// numberSyntax is JSON's: big.ParseFloat alone would take "Inf" and "0x1p4".
func numberSyntax(s string) bool {
	return canon.Valid([]byte(s)) == nil && kindOf([]byte(s)) == kindNumber
}

var numberOrFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("text"), {Name: "default", Type: cty.Number}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v := args[0]
		switch {
		case v.IsNull():
			return args[1], nil
		case v.Type() == cty.Number:
			return v, nil
		case v.Type() != cty.String:
			return cty.NilVal, function.NewArgErrorf(0, "a text is needed, and this is a %s", valueKind(v))
		}
		s := strings.TrimSpace(v.AsString())
		if !numberSyntax(s) {
			return args[1], nil
		}
		return cty.ParseNumberVal(s)
	},
})

var clampFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "number", Type: cty.Number}, {Name: "lowest", Type: cty.Number}, {Name: "highest", Type: cty.Number}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		n, lowest, highest := args[0], args[1], args[2]
		switch {
		case lowest.GreaterThan(highest).True():
			return cty.NilVal, function.NewArgErrorf(1, "the lowest is above the highest")
		case n.LessThan(lowest).True():
			return lowest, nil
		case n.GreaterThan(highest).True():
			return highest, nil
		}
		return n, nil
	},
})

// listFunc is a function of one list whose elements are all of a type.
func listFunc(elem, result cty.Type, f func([]cty.Value) cty.Value) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(result),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			t := args[0].Type()
			if !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
				return cty.NilVal, function.NewArgErrorf(0, "a list is needed, and this is a %s", valueKind(args[0]))
			}
			var vals []cty.Value
			for it := args[0].ElementIterator(); it.Next(); {
				_, v := it.Element()
				if v.IsNull() || v.Type() != elem {
					return cty.NilVal, function.NewArgErrorf(0, "a list of %s is needed, and element %d is a %s", fromCty(elem).many(), len(vals), valueKind(v))
				}
				vals = append(vals, v)
			}
			return f(vals), nil
		},
	})
}

var (
	anyFunc = listFunc(cty.Bool, cty.Bool, func(vals []cty.Value) cty.Value {
		for _, v := range vals {
			if v.True() {
				return cty.True
			}
		}
		return cty.False
	})
	allFunc = listFunc(cty.Bool, cty.Bool, func(vals []cty.Value) cty.Value {
		for _, v := range vals {
			if v.False() {
				return cty.False
			}
		}
		return cty.True
	})
	sumFunc = listFunc(cty.Number, cty.Number, func(vals []cty.Value) cty.Value {
		sum := cty.Zero
		for _, v := range vals {
			sum = sum.Add(v)
		}
		return sum
	})
)

// lengthFunc is cty's, but counts the attributes of an object too: every JSON
// object is one.
var lengthFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "collection", Type: cty.DynamicPseudoType}},
	Type: func(args []cty.Value) (cty.Type, error) {
		switch t := args[0].Type(); {
		case t == cty.String:
			return cty.NilType, function.NewArgErrorf(0, "this is a text; the number of its characters is runes(…), of its words words(…)")
		case t.IsPrimitiveType():
			return cty.NilType, function.NewArgErrorf(0, "a list or an object is needed, and this is a %s", fromCty(t))
		}
		return cty.Number, nil
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if t := args[0].Type(); t.IsObjectType() {
			return cty.NumberIntVal(int64(len(t.AttributeTypes()))), nil
		}
		return args[0].Length(), nil
	},
})

// containsFunc is cty's, but knows what to do with null, and compares numbers
// without writing them out.
var containsFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}, anything("value")},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		t := args[0].Type()
		if !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
			return cty.NilVal, function.NewArgErrorf(0, "a list is needed, and this is a %s", valueKind(args[0]))
		}
		for it := args[0].ElementIterator(); it.Next(); {
			_, v := it.Element()
			if equalValues(v, args[1]) {
				return cty.True, nil
			}
		}
		return cty.False, nil
	},
})

func equalValues(a, b cty.Value) bool {
	if isNumber(a) && isNumber(b) {
		return a.AsBigFloat().Cmp(b.AsBigFloat()) == 0
	}
	eq := a.Equals(b)
	return eq.IsKnown() && eq.True()
}

// getFunc is get of a value that is computed; of a path it is a node of its own.
var getFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("object"), {Name: "path", Type: cty.String}, anything("default")},
	Type:   function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v := args[0]
		for part := range strings.SplitSeq(args[1].AsString(), ".") {
			if v = partOf(v, part); v.IsNull() {
				return args[2], nil
			}
		}
		return v, nil
	},
})

// partOf is the value of a name or an index; null where there is none.
func partOf(v cty.Value, name string) cty.Value {
	absent := cty.NullVal(cty.DynamicPseudoType)
	t := v.Type()
	switch {
	case v.IsNull():
	case t.IsObjectType() && t.HasAttribute(name):
		return v.GetAttr(name)
	case t.IsMapType() && v.HasIndex(cty.StringVal(name)).True():
		return v.Index(cty.StringVal(name))
	case t.IsTupleType() || t.IsListType():
		if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < v.LengthInt() {
			return v.Index(cty.NumberIntVal(int64(n)))
		}
	}
	return absent
}

var digestFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("value")},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		b, err := Canonical(args[0])
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return cty.StringVal(hexSum(b)), nil
	},
})

var jsonEncodeFunc = function.New(&function.Spec{
	Params: []function.Parameter{anything("value")},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		b, err := Canonical(args[0])
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return cty.StringVal(string(b)), nil
	},
})

var jsonDecodeFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "json", Type: cty.String}},
	Type:   function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		b, err := canon.Canonical(nil, []byte(args[0].AsString()))
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(0, "this is not strict JSON: %w", err)
		}
		return view(b)
	},
})

// readFile reads a text file below the pipeline's directory.
func readFile(fsys fs.FS, name string) (string, error) {
	name = slashpath.Clean(name)
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("%q is not a path inside the pipeline's directory; paths are relative to it and have no \"..\"", name)
	}
	b, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		if near := NearFile(fsys, name); near != "" {
			return "", fmt.Errorf("there is no file %q. %s", name, near)
		}
		return "", fmt.Errorf("there is no file %q; paths are relative to the pipeline's directory", name)
	}
	if err != nil {
		return "", fmt.Errorf("the file %q cannot be read: %w", name, err)
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("the file %q is not UTF-8", name)
	}
	return string(b), nil
}

func fileFunc(fsys fs.FS) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := readFile(fsys, args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.StringVal(s), nil
		},
	})
}

// maxTemplateDepth bounds nesting: HCL's parser is recursive, and a stack that
// overflows cannot be recovered from.
const maxTemplateDepth = 256

func templateFile(fsys fs.FS, functions map[string]function.Function) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			src, err := readFile(fsys, name)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			if t := args[1].Type(); !t.IsObjectType() && !t.IsMapType() {
				return cty.NilVal, function.NewArgErrorf(1, "an object is needed, and this is a %s", valueKind(args[1]))
			}
			v, err := renderTemplate(name, src, args[1].AsValueMap(), functions)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return v, nil
		},
	})
}

func renderTemplate(name, src string, vars map[string]cty.Value, functions map[string]function.Function) (cty.Value, error) {
	tokens, diags := hclsyntax.LexTemplate([]byte(src), name, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, errors.New(diags.Error())
	}
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOParen, hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenCParen, hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenTemplateSeqEnd:
			depth--
		}
		if depth > maxTemplateDepth {
			return cty.NilVal, fmt.Errorf("the template %q nests deeper than %d", name, maxTemplateDepth)
		}
	}
	e, diags := hclsyntax.ParseTemplate([]byte(src), name, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, errors.New(diags.Error())
	}
	v, diags := e.Value(&hcl.EvalContext{Variables: vars, Functions: functions})
	switch {
	case diags.HasErrors():
		return cty.NilVal, errors.New(diags.Error())
	case v.IsNull() || !v.IsKnown():
		return cty.NilVal, fmt.Errorf("the template %q gives no text", name)
	case v.Type() == cty.String:
		return v, nil
	}
	return asText(v)
}

// matchSchemaFunc compiles each schema once, however often it is asked.
func matchSchemaFunc(fsys fs.FS) function.Function {
	var compiled sync.Map // path → *schema.Schema
	load := func(name string) (*schema.Schema, error) {
		if s, ok := compiled.Load(name); ok {
			return s.(*schema.Schema), nil
		}
		src, err := readFile(fsys, name)
		if err != nil {
			return nil, err
		}
		s, err := schema.Compile(name, []byte(src))
		if err == nil {
			compiled.Store(name, s)
		}
		return s, err
	}
	return function.New(&function.Spec{
		Params: []function.Parameter{anything("value"), {Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := load(args[1].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(1, err)
			}
			b, err := Canonical(args[0])
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.BoolVal(s.Validate(b) == nil), nil
		},
	})
}

var globMatchFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "pattern", Type: cty.DynamicPseudoType}, {Name: "path", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var patterns []string
		if args[0].Type() == cty.String {
			patterns = []string{args[0].AsString()}
		} else {
			var err error
			if patterns, err = textsOf(args[0]); err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
		}
		names := strings.Split(args[1].AsString(), "/")
		matched := false
		for _, p := range patterns {
			ok, err := globMatch(strings.Split(p, "/"), names)
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(0, "%q is not a pattern: a [ has no ]", p)
			}
			matched = matched || ok
		}
		return cty.BoolVal(matched), nil
	},
})

// globMatch matches names of a path; "**" stands for any number of them.
func globMatch(pattern, names []string) (bool, error) {
	for _, p := range pattern { // a broken pattern is told of even where it decides nothing
		if _, err := slashpath.Match(p, ""); err != nil {
			return false, err
		}
	}
	// reach[i]: the pattern so far matches the first i names.
	reach := make([]bool, len(names)+1)
	reach[0] = true
	for _, p := range pattern {
		next := make([]bool, len(names)+1)
		for i := range reach {
			switch {
			case p == "**":
				next[i] = reach[i] || (i > 0 && next[i-1])
			case i > 0 && reach[i-1]:
				next[i], _ = slashpath.Match(p, names[i-1])
			}
		}
		reach = next
	}
	return reach[len(names)], nil
}
