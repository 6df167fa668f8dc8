package dag_test

import (
	"testing"

	"github.com/penstock-run/penstock/dag"
)

func TestConfigurationsAreWholeForTheirPlugins(t *testing.T) {
	for _, tt := range []struct {
		name, config, want string
		secrets            map[string]string
		unkeyed            string
	}{
		{"none", `{"a":1}`, `{"a":1}`, nil, ``},
		{"an attribute", `{"a":1}`, `{"a":1,"api_key":"k\"y"}`, map[string]string{"api_key": `k"y`}, ``},
		{"no configuration", ``, `{"api_key":"k"}`, map[string]string{"api_key": "k"}, ``},
		{"a member of a map", `{"headers":{"x":"y"}}`, `{"headers":{"authorization":"k","x":"y"}}`, map[string]string{"headers.authorization": "k"}, ``},
		{"a name with a point", `{"headers":{}}`, `{"headers":{"x.y":"k"}}`, map[string]string{"headers.x.y": "k"}, ``},
		{"a block in a block", `{"a":{"b":{}}}`, `{"a":{"b":{"c":"k"}}}`, map[string]string{"a.b.c": "k"}, ``},
		{"what belongs to no action", `{"a":1,"b":{"c":2}}`, `{"a":1,"b":{"c":2,"d":3},"e":4}`, nil, `{"b":{"d":3},"e":4}`},
		{"nothing else", ``, `{"e":4}`, nil, `{"e":4}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := dag.WholeConfig(dag.Doc{Bytes: []byte(tt.config)}, dag.Doc{Bytes: []byte(tt.unkeyed)}, tt.secrets)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}
