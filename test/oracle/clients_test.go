package oracle

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	claude "github.com/anthropics/anthropic-sdk-go/v2"
	claudeoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	ollamaapi "github.com/ollama/ollama/api"
	gpt "github.com/openai/openai-go/v3"
	gptoption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"

	"github.com/penstock-run/penstock/plugins/anthropic"
	"github.com/penstock-run/penstock/plugins/gemini"
	"github.com/penstock-run/penstock/plugins/ollama"
	"github.com/penstock-run/penstock/plugins/openai"
	"github.com/penstock-run/penstock/plugins/sdk"
)

var clients = map[string]client{
	"openai-go, chat": {
		provider: openai.Provider, model: "m", base: "/v1", config: `,"dialect":{"max_tokens":"max_completion_tokens"}`,
		sampling: &sdk.Sampling{Temperature: ptr(0.0), TopP: ptr(0.5), Seed: ptr(int64(7)), MaxTokens: ptr(int64(50)), Stop: []string{"END"}},
		ask:      askChat, finish: map[string]string{"stop": "stop", "length": "length"},
	},
	"openai-go, responses": {
		provider: openai.Provider, model: "m", base: "/v1", config: `,"dialect":{"api":"responses"}`,
		sampling: &sdk.Sampling{Temperature: ptr(0.0), MaxTokens: ptr(int64(50))},
		ask:      askResponses, finish: map[string]string{"completed": "stop", "incomplete": "length"},
		// A text is short for a list of one part; servers that imitate the API are surer of lists.
		differ: []string{
			`.input[0].content: [{"text":"one\nmore \u2028","type":"input_text"}], "one\nmore \u2028"`,
			`.input[1].content: [{"text":"two","type":"output_text"}], "two"`,
			`.input[2].content: [{"text":"three","type":"input_text"}], "three"`,
		},
	},
	"anthropic-sdk-go": {
		provider: anthropic.Provider, model: "claude-sonnet-4-5",
		sampling: &sdk.Sampling{MaxTokens: ptr(int64(50)), Stop: []string{"END"}}, // the client has no temperature
		ask:      askClaude, finish: map[string]string{"end_turn": "stop", "max_tokens": "length"},
		// The same the other way round: the API takes a text for a list of one.
		differ: []string{
			`.messages[0].content: "one\nmore \u2028", [{"text":"one\nmore \u2028","type":"text"}]`,
			`.messages[1].content: "two", [{"text":"two","type":"text"}]`,
			`.messages[2].content: "three", [{"text":"three","type":"text"}]`,
		},
	},
	"genai": {
		provider: gemini.Provider, model: "gemini-2.5-flash", noWriting: true,
		sampling: &sdk.Sampling{Temperature: ptr(0.0), TopP: ptr(0.5), Seed: ptr(int64(7)), MaxTokens: ptr(int64(50)), Stop: []string{"END"}},
		ask:      askGemini, finish: map[string]string{"STOP": "stop", "MAX_TOKENS": "length"},
		differ: []string{`.systemInstruction.role: absent, "user"`}, // the API takes no notice of that role
	},
	"ollama/api": {
		provider: ollama.Provider, model: "llama3.2", noCaching: true,
		sampling: &sdk.Sampling{Temperature: ptr(0.0), TopP: ptr(0.5), Seed: ptr(int64(7)), MaxTokens: ptr(int64(50)), Stop: []string{"END"}},
		ask:      askOllama, finish: map[string]string{"stop": "stop", "length": "length"},
	},
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	return document
}

const (
	first = "one\nmore \u2028"
	reply = "two"
	last  = "three"
)

func askChat(t *testing.T, at string) read {
	c := gpt.NewClient(gptoption.WithBaseURL(at+"/v1"), gptoption.WithAPIKey("k"), gptoption.WithMaxRetries(0))
	stream := c.Chat.Completions.NewStreaming(t.Context(), gpt.ChatCompletionNewParams{
		Model: "m", Temperature: gpt.Float(0), TopP: gpt.Float(.5), Seed: gpt.Int(7), MaxCompletionTokens: gpt.Int(50),
		Stop: gpt.ChatCompletionNewParamsStopUnion{OfStringArray: []string{"END"}},
		Messages: []gpt.ChatCompletionMessageParamUnion{
			gpt.SystemMessage("You are brief."), gpt.UserMessage(first), gpt.AssistantMessage(reply), gpt.UserMessage(last),
		},
		ResponseFormat: gpt.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Strict: gpt.Bool(true), Schema: object(t, schema)},
		}},
		StreamOptions: gpt.ChatCompletionStreamOptionsParam{IncludeUsage: gpt.Bool(true)},
	})
	var all gpt.ChatCompletionAccumulator
	var u gpt.CompletionUsage // the accumulator leaves out what was written to a cache
	for stream.Next() {
		all.AddChunk(stream.Current())
		if stream.Current().JSON.Usage.Valid() {
			u = stream.Current().Usage
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return read{
		Text: all.Choices[0].Message.Content, Finish: all.Choices[0].FinishReason, Model: all.Model,
		Input: u.PromptTokens, Output: u.CompletionTokens, Cached: u.PromptTokensDetails.CachedTokens, Wrote: u.PromptTokensDetails.CacheWriteTokens,
		Mind: u.CompletionTokensDetails.ReasoningTokens,
	}
}

func askResponses(t *testing.T, at string) read {
	c := gpt.NewClient(gptoption.WithBaseURL(at+"/v1"), gptoption.WithAPIKey("k"), gptoption.WithMaxRetries(0))
	stream := c.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{
		Model: "m", Temperature: gpt.Float(0), MaxOutputTokens: gpt.Int(50), Store: gpt.Bool(false), Instructions: gpt.String("You are brief."),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage(first, "user"),
			responses.ResponseInputItemParamOfMessage(reply, "assistant"),
			responses.ResponseInputItemParamOfMessage(last, "user"),
		}},
		Text: responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigUnionParam{
			OfJSONSchema: &responses.ResponseFormatTextJSONSchemaConfigParam{Name: "answer", Strict: gpt.Bool(true), Schema: object(t, schema)},
		}},
	})
	var r responses.Response
	for stream.Next() {
		if e := stream.Current(); e.Type == "response.completed" || e.Type == "response.incomplete" {
			r = e.Response
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return read{
		Text: r.OutputText(), Finish: string(r.Status), Model: string(r.Model),
		Input: r.Usage.InputTokens, Output: r.Usage.OutputTokens, Cached: r.Usage.InputTokensDetails.CachedTokens,
		Wrote: r.Usage.InputTokensDetails.CacheWriteTokens, Mind: r.Usage.OutputTokensDetails.ReasoningTokens,
	}
}

func askClaude(t *testing.T, at string) read {
	c := claude.NewClient(claudeoption.WithBaseURL(at), claudeoption.WithAPIKey("k"), claudeoption.WithMaxRetries(0))
	stream := c.Messages.NewStreaming(t.Context(), claude.MessageNewParams{
		Model: "claude-sonnet-4-5", MaxTokens: 50, StopSequences: []string{"END"}, System: []claude.TextBlockParam{{Text: "You are brief."}},
		Messages: []claude.MessageParam{
			claude.NewUserMessage(claude.NewTextBlock(first)), claude.NewAssistantMessage(claude.NewTextBlock(reply)), claude.NewUserMessage(claude.NewTextBlock(last)),
		},
		OutputConfig: claude.OutputConfigParam{Format: claude.JSONOutputFormatParam{Schema: object(t, schema)}},
	})
	var m claude.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	r := read{
		Finish: string(m.StopReason), Model: string(m.Model),
		// This API counts what came from its cache, and went to it, beside its input.
		Input:  m.Usage.InputTokens + m.Usage.CacheReadInputTokens + m.Usage.CacheCreationInputTokens,
		Output: m.Usage.OutputTokens, Cached: m.Usage.CacheReadInputTokens, Wrote: m.Usage.CacheCreationInputTokens, Mind: m.Usage.OutputTokensDetails.ThinkingTokens,
	}
	for _, part := range m.Content {
		if part.Type == "text" {
			r.Text += part.Text
		}
	}
	return r
}

func askGemini(t *testing.T, at string) read {
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: at}})
	if err != nil {
		t.Fatal(err)
	}
	contents := []*genai.Content{genai.NewContentFromText(first, "user"), genai.NewContentFromText(reply, "model"), genai.NewContentFromText(last, "user")}
	var r read
	for chunk, err := range c.Models.GenerateContentStream(t.Context(), "gemini-2.5-flash", contents, &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "You are brief."}}},
		Temperature:       ptr(float32(0)), TopP: ptr(float32(.5)), Seed: ptr(int32(7)), MaxOutputTokens: 50, StopSequences: []string{"END"},
		ResponseMIMEType: "application/json", ResponseJsonSchema: object(t, schema),
	}) {
		if err != nil {
			t.Fatal(err)
		}
		r.Text += chunk.Text()
		r.Model = chunk.ModelVersion
		if f := chunk.Candidates[0].FinishReason; f != "" {
			r.Finish = string(f)
		}
		if u := chunk.UsageMetadata; u != nil { // thoughts are counted beside the answer
			r.Input, r.Cached = int64(u.PromptTokenCount), int64(u.CachedContentTokenCount)
			r.Output, r.Mind = int64(u.CandidatesTokenCount+u.ThoughtsTokenCount), int64(u.ThoughtsTokenCount)
		}
	}
	return r
}

func askOllama(t *testing.T, at string) read {
	base, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	var r read
	err = ollamaapi.NewClient(base, http.DefaultClient).Chat(t.Context(), &ollamaapi.ChatRequest{
		Model: "llama3.2", Format: json.RawMessage(schema), Think: &ollamaapi.ThinkValue{Value: false}, Stream: ptr(true),
		Messages: []ollamaapi.Message{
			{Role: "system", Content: "You are brief."}, {Role: "user", Content: first}, {Role: "assistant", Content: reply}, {Role: "user", Content: last},
		},
		Options: map[string]any{"num_ctx": 8192, "temperature": 0, "top_p": .5, "seed": 7, "num_predict": 50, "stop": []string{"END"}},
	}, func(chunk ollamaapi.ChatResponse) error {
		r.Text += chunk.Message.Content
		r.Model, r.Finish = chunk.Model, chunk.DoneReason
		r.Input, r.Output = int64(chunk.PromptEvalCount), int64(chunk.EvalCount)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
