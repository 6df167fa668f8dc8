package wire

import (
	"testing"

	"github.com/penstock-run/penstock/plugins/sdk"
)

func TestPeer(t *testing.T) {
	const base = "https://api.example.com/v1"
	for _, test := range []struct {
		config string
		want   sdk.Peer
	}{
		{`{}`, sdk.Peer{System: "s", Address: "api.example.com", Port: 443}},
		{`{"base_url":null,"other":[1]}`, sdk.Peer{System: "s", Address: "api.example.com", Port: 443}},
		{`{"base_url":"http://127.0.0.1:8000/v1"}`, sdk.Peer{System: "s", Address: "127.0.0.1", Port: 8000}},
		{`{"base_url":"http://[::1]/v1"}`, sdk.Peer{System: "s", Address: "::1", Port: 80}},
		{`{"base_url":"ftp://there"}`, sdk.Peer{System: "s"}},
		{`{"base_url":"::"}`, sdk.Peer{System: "s"}},
		{`{"base_url":7}`, sdk.Peer{System: "s"}},
		{``, sdk.Peer{System: "s"}},
	} {
		if got := Peer("s", base)([]byte(test.config)); got != test.want {
			t.Errorf("Peer of %s = %+v, want %+v", test.config, got, test.want)
		}
	}
}
