package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// Settings are what every provider block over HTTP has.
type Settings struct {
	APIKey       *string           `json:"api_key"`
	BaseURL      *string           `json:"base_url"`
	Headers      map[string]string `json:"headers"`
	StallTimeout *string           `json:"stall_timeout"`
}

// Fields describe Settings: a server's usual address, and the variable that its
// key usually stands in.
func Fields(base, variable string, needed bool) []sdk.Field {
	return []sdk.Field{
		{Name: "api_key", Type: "string", Required: needed, Sensitive: true, Doc: fmt.Sprintf("The key. `env(%q)`", variable)},
		{Name: "base_url", Type: "string", Default: fmt.Sprintf("%q", base), Doc: "Address of the server; paths of its API come after it."},
		{Name: "headers", Type: "map(string)", Default: "{}", Sensitive: true, Doc: "Headers to send besides, for gateways."},
		{Name: "stall_timeout", Type: "string", Default: `"2m"`, Unkeyed: true, Doc: "How long a server may send nothing, the first byte included, before it counts as stalled."},
	}
}

// Check collects what is wrong with a provider block, each thing at its place.
type Check struct{ said sdk.Diagnostics }

// Complain says that an attribute cannot be used; an empty one is the block itself.
func (c *Check) Complain(attribute, summary, format string, args ...any) {
	d := sdk.Diagnostic{Summary: summary, Detail: fmt.Sprintf(format, args...)}
	if attribute != "" {
		d.Path = strings.Split(attribute, ".")
	}
	c.said = append(c.said, d)
}

// Between complains of a number outside of its bounds.
func (c *Check) Between(attribute string, n *float64, least, most float64) {
	if n != nil && (*n < least || *n > most) {
		c.Complain(attribute, "The number is out of range", "%s is a number from %v to %v, not %v.", attribute, least, most, *n)
	}
}

// Whole complains of a number that is no count.
func (c *Check) Whole(attribute string, n *float64, least float64) {
	if n != nil && (*n < least || *n != float64(int64(*n))) {
		c.Complain(attribute, "The number is out of range", "%s is a whole number from %v, not %v.", attribute, least, *n)
	}
}

// OneOf complains of a word that is none of those known.
func (c *Check) OneOf(attribute string, word *string, known ...string) {
	if word != nil && !slices.Contains(known, *word) {
		c.Complain(attribute, "Unknown word", "%s is one of %s, not %q.", attribute, strings.Join(known, ", "), *word)
	}
}

// Model complains of a block without a model.
func (c *Check) Model(model, example string) {
	if model == "" {
		c.Complain("", "The model is missing", "Name one in the provider block, as in model = %q.", example)
	}
}

// Warn says that an attribute does not do what it seems to; the block can be used.
func (c *Check) Warn(attribute, summary, format string, args ...any) {
	c.Complain(attribute, summary, format, args...)
	c.said[len(c.said)-1].Warning = true
}

// Refused tells whether something cannot be used, and was not only warned of.
func (c *Check) Refused() bool {
	return slices.ContainsFunc(c.said, func(d sdk.Diagnostic) bool { return !d.Warning })
}

// Err is what was complained and warned of, or nil.
func (c *Check) Err() error {
	if len(c.said) == 0 {
		return nil
	}
	return c.said
}

// Server makes the server of these settings, with the headers of the API, and
// complains of what cannot be one. A user's own header takes an API's place.
func (s *Settings) Server(c *Check, base string, api http.Header) *Server {
	stall := 2 * time.Minute
	if s.BaseURL != nil {
		base = *s.BaseURL
	}
	switch u, err := url.Parse(base); {
	case err == nil && (u.User != nil || u.RawQuery != "" || u.Fragment != ""):
		c.Complain("base_url", "Not an address", "base_url takes no user, query or fragment: a key belongs into api_key or headers, where it is kept secret.")
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || !isPort(u.Port()):
		c.Complain("base_url", "Not an address", "%q is not the address of a server; write one like \"http://127.0.0.1:8000/v1\".", base)
	}
	if s.StallTimeout != nil {
		d, err := time.ParseDuration(*s.StallTimeout)
		if err != nil || d <= 0 {
			c.Complain("stall_timeout", "Not a duration", "stall_timeout is a duration like \"90s\", not %q.", *s.StallTimeout)
		} else {
			stall = d
		}
	}
	header := api.Clone()
	if header == nil {
		header = http.Header{}
	}
	for name, value := range s.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			c.Complain("headers", "Not a header", "%q is not the name of a header, or its value has characters that a header cannot hold.", name)
			continue
		}
		if s.bearsKey(header.Get(name)) {
			c.Warn("headers", "The key is not sent", "%q of headers takes the place of the header that would bear api_key: write one of the two.", name)
		}
		header.Set(name, value)
	}
	return NewServer(base, header, stall)
}

// bearsKey tells whether a header of the API is the one with the key in it.
func (s *Settings) bearsKey(value string) bool {
	if s.APIKey == nil {
		return false
	}
	key := strings.TrimSpace(*s.APIKey)
	return key != "" && strings.HasSuffix(value, key)
}

// isPort tells whether a port, where an address names one, can be one.
func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// Key is the API key, without the white space that a file or a shell leaves
// around it.
func (s *Settings) Key(c *Check) string {
	if s.APIKey == nil {
		return ""
	}
	key := strings.TrimSpace(*s.APIKey)
	if !httpguts.ValidHeaderFieldValue(key) {
		c.Complain("api_key", "Not a key", "The key holds a character that a header cannot: is it a whole file?")
	}
	return key
}
