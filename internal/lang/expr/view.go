package expr

import (
	"errors"
	"math/big"
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

// precision is that of cty's own number parser. A view at another precision
// would make x > 0.1 true for an x of 0.1.
const precision = 512

var errBroken = errors.New("the document is not canonical JSON")

// view is what an expression sees of raw JSON. Nothing is ever written back
// from it that was not computed: cty rewrites texts to NFC and numbers to its
// own form.
func view(raw []byte) (cty.Value, error) {
	switch kindOf(raw) {
	case kindString:
		s, ok := unquote(raw)
		if !ok {
			return cty.NilVal, errBroken
		}
		return cty.StringVal(s), nil
	case kindNumber:
		return viewNumber(raw)
	case kindBool:
		return cty.BoolVal(raw[0] == 't'), nil
	case kindNull:
		return cty.NullVal(cty.DynamicPseudoType), nil
	case kindList:
		return viewList(raw)
	case kindObject:
		return viewObject(raw)
	}
	return cty.NilVal, errBroken
}

// viewNumber takes short integers by a shorter way to the same value.
func viewNumber(raw []byte) (cty.Value, error) {
	const short = 15
	if len(raw) <= short {
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return cty.NumberVal(new(big.Float).SetPrec(precision).SetInt64(n)), nil
		}
	}
	f, err := parseNumber(raw)
	if err != nil {
		return cty.NilVal, errBroken
	}
	return cty.NumberVal(f), nil
}

func parseNumber(raw []byte) (*big.Float, error) {
	f, _, err := big.ParseFloat(string(raw), 10, precision, big.ToNearestEven)
	return f, err
}

func viewList(raw []byte) (cty.Value, error) {
	var elems []cty.Value
	var err error
	ok := eachElement(raw, func(value []byte) bool {
		var v cty.Value
		if v, err = view(value); err != nil {
			return false
		}
		elems = append(elems, v)
		return true
	})
	if !ok {
		return cty.NilVal, errBroken
	}
	if err != nil {
		return cty.NilVal, err
	}
	return cty.TupleVal(elems), nil
}

func viewObject(raw []byte) (cty.Value, error) {
	members := map[string]cty.Value{}
	var err error
	ok := eachMember(raw, func(name, value []byte) bool {
		var v cty.Value
		if v, err = view(value); err != nil {
			return false
		}
		s, valid := unquote(name)
		if !valid {
			err = errBroken
			return false
		}
		members[s] = v
		return true
	})
	if !ok {
		return cty.NilVal, errBroken
	}
	if err != nil {
		return cty.NilVal, err
	}
	return cty.ObjectVal(members), nil
}
