package openai

import (
	"encoding/json"
	"strings"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire"
)

// dialect is where a server differs from the others.
type dialect struct {
	API       *string `json:"api"`
	MaxTokens *string `json:"max_tokens"`
	Schema    *string `json:"schema"`
	Auth      *string `json:"auth_header"`
	System    *string `json:"system_role"`
	Seed      *bool   `json:"seed"`
	Stream    *bool   `json:"stream"`
	Usage     *bool   `json:"stream_usage"`
	Body      *string `json:"body"`

	body map[string]json.RawMessage
}

func dialectField() sdk.Field {
	return sdk.Field{Name: "dialect", Doc: "Where the server differs from OpenAI's own.", Block: []sdk.Field{
		{Name: "api", Type: "string", Default: `"chat"`, Doc: "\"chat\" for chat completions, \"responses\" for OpenAI's newer API."},
		{Name: "max_tokens", Type: "string", Doc: "What the server calls the longest answer: \"max_completion_tokens\" (OpenAI's own, and the default there) or \"max_tokens\" (most others)."},
		{Name: "schema", Type: "string", Default: `"auto"`, Doc: "How the schema of the answer is sent: \"strict\", \"loose\", \"json_object\" (only that it is JSON) or \"none\"; \"auto\" is strict where the schema keeps to the rules of that, else loose."},
		{Name: "auth_header", Type: "string", Default: `"Authorization"`, Unkeyed: true, Doc: "The header that bears the key; in any but Authorization it stands bare."},
		{Name: "system_role", Type: "string", Default: `"system"`, Doc: "The role of the system text: \"system\" or \"developer\"."},
		{Name: "seed", Type: "bool", Default: "true", Doc: "Whether the server takes a seed."},
		{Name: "stream", Type: "bool", Default: "true", Unkeyed: true, Doc: "Whether the answer is asked for in pieces, so that a stalled server is told apart from a slow one."},
		{Name: "stream_usage", Type: "bool", Default: "true", Unkeyed: true, Doc: "Whether a stream is asked for its usage."},
		{Name: "body", Type: "string", Doc: "A JSON object whose members are added to each request, as in jsonencode({ top_k = 40 })."},
	}}
}

// filled is the dialect with its defaults.
func (d *dialect) filled(check *wire.Check, official bool) dialect {
	var all dialect
	if d != nil {
		all = *d
	}
	def := func(p **string, value string) {
		if *p == nil {
			*p = &value
		}
	}
	yes := func(p **bool) {
		if *p == nil {
			t := true
			*p = &t
		}
	}
	def(&all.API, "chat")
	def(&all.Schema, "auto")
	def(&all.Auth, "Authorization")
	def(&all.System, "system")
	if official {
		def(&all.MaxTokens, "max_completion_tokens")
	}
	def(&all.MaxTokens, "max_tokens")
	yes(&all.Seed)
	yes(&all.Stream)
	yes(&all.Usage)
	check.OneOf("dialect.api", all.API, "chat", "responses")
	check.OneOf("dialect.max_tokens", all.MaxTokens, "max_tokens", "max_completion_tokens")
	check.OneOf("dialect.schema", all.Schema, "auto", "strict", "loose", "json_object", "none")
	check.OneOf("dialect.system_role", all.System, "system", "developer")
	if all.Body != nil {
		if err := json.Unmarshal([]byte(*all.Body), &all.body); err != nil || all.body == nil {
			check.Complain("dialect.body", "Not a JSON object", "body is the text of a JSON object, as in jsonencode({ top_k = 40 }).")
		}
	}
	return all
}

func (d *dialect) responses() bool { return *d.API == "responses" }

func (d *dialect) authHeader() string { return *d.Auth }

// add puts the members of body into a request, over those that stand there.
func (d *dialect) add(request map[string]any) {
	for name, value := range d.body {
		request[name] = value
	}
}

// reasons are prefixes of the names of models that reason, and take no sampling.
var reasons = []string{"o1", "o3", "o4", "gpt-5"}

// sizes are those of OpenAI's own models that are surely known.
var sizes = map[string]wire.Size{
	"gpt-5": {Context: 400_000, Answer: 128_000}, "gpt-5-mini": {Context: 400_000, Answer: 128_000}, "gpt-5-nano": {Context: 400_000, Answer: 128_000},
	"gpt-4.1": {Context: 1_047_576, Answer: 32_768}, "gpt-4.1-mini": {Context: 1_047_576, Answer: 32_768}, "gpt-4.1-nano": {Context: 1_047_576, Answer: 32_768},
	"gpt-4o": {Context: 128_000, Answer: 16_384}, "gpt-4o-2024-05-13": {Context: 128_000, Answer: 4_096}, "gpt-4o-mini": {Context: 128_000, Answer: 16_384},
	"o3": {Context: 200_000, Answer: 100_000}, "o3-mini": {Context: 200_000, Answer: 100_000}, "o4-mini": {Context: 200_000, Answer: 100_000},
}

// model is what OpenAI's own models can do; of those of other servers nothing is
// known but what the dialect says.
func model(name string, document []byte) sdk.Model {
	var c config
	if (sdk.ProviderConfig{JSON: document}).Into(&c) != nil {
		return sdk.Model{}
	}
	var unheard wire.Check
	d := c.Dialect.filled(&unheard, official(c.Settings))
	m := sdk.Model{Known: true, Takes: []string{"schema", "temperature", "top_p"}}
	if *d.Seed && !d.responses() {
		m.Takes = append(m.Takes, "seed")
	}
	if !d.responses() {
		m.Takes = append(m.Takes, "stop")
	}
	if !official(c.Settings) {
		return m
	}
	size := wire.SizeOf(sizes, name)
	m.ContextTokens, m.MaxOutputTokens = size.Context, size.Answer
	for _, prefix := range reasons {
		if strings.HasPrefix(name, prefix) && !strings.Contains(name, "chat") {
			m.Takes = []string{"schema"}
		}
	}
	return m
}
