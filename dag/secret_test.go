package dag

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretForms(t *testing.T) {
	for name, row := range map[string]struct {
		secrets map[string]string
		want    []string
	}{
		"none":                   {nil, nil},
		"not set":                {map[string]string{"api_key": ""}, nil},
		"a short one":            {map[string]string{"pin": "no"}, []string{"no"}},
		"a header":               {map[string]string{"h": "Bearer token-0123"}, []string{"Bearer token-0123", "token-0123"}},
		"a quotation mark":       {map[string]string{"k": `a"b-456789`}, []string{`a\"b-456789`, `a"b-456789`}},
		"what pages do not hold": {map[string]string{"k": "a&b-456789"}, []string{`a\u0026b-456789`, "a&b-456789"}},
		"the same twice":         {map[string]string{"a": "canary-0123", "b": "canary-0123"}, []string{"canary-0123"}},
	} {
		if diff := cmp.Diff(row.want, SecretForms(row.secrets)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
