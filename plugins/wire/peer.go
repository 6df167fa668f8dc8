package wire

import (
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// Peer tells whom a block with Settings calls: the API's name in OpenTelemetry's
// conventions, and the host of base_url, or else of the API's usual address.
func Peer(system, base string) func(config []byte) sdk.Peer {
	return func(config []byte) sdk.Peer {
		peer := sdk.Peer{System: system}
		var s struct {
			BaseURL *string `json:"base_url"`
		}
		if err := json.Unmarshal(config, &s); err != nil {
			return peer
		}
		address := base
		if s.BaseURL != nil {
			address = *s.BaseURL
		}
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" {
			return peer // Server complains of it
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return peer
		}
		peer.Address, peer.Port = u.Hostname(), uint32(n)
		return peer
	}
}
