package wiretest

import (
	"encoding/json"
	"strings"
)

// object is a JSON object that a server sends.
type object = map[string]any

// speaker is one wire.
type speaker interface {
	contentType() string
	whole(Step) object
	stream(Step) (start string, pieces []string, end string)
	failure() string // an overload, told inside a stream
}

// speakerOf is the wire that a path belongs to; nil for none.
func speakerOf(path string) speaker {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/v1/messages"):
		return messages{}
	case strings.Contains(path, "/v1beta/models/"):
		return gemini{}
	case strings.HasSuffix(path, "/api/chat"):
		return ollama{}
	}
	return nil
}

func encode(document object) string {
	b, err := json.Marshal(document)
	if err != nil {
		panic(err) // of maps that are written in this package
	}
	return string(b)
}

func event(document object) string { return "data: " + encode(document) + "\n\n" }

func named(name string, document object) string {
	document["type"] = name
	return "event: " + name + "\ndata: " + encode(document) + "\n\n"
}

func modelOf(s Step) string {
	if s.Model != "" {
		return s.Model
	}
	return "served-1"
}

// word is a finish reason in the words of a wire.
func word(s Step, words object) any {
	if s.Finish == "" {
		return words["stop"]
	}
	return words[s.Finish]
}

// refuses tells whether the text is a refusal.
func (s Step) refuses() bool { return strings.HasPrefix(s.Finish, "refusal") }

type chat struct{}

var chatWords = object{"stop": "stop", "length": "length", "content_filter": "content_filter", "refusal": "stop", "refusal, cut off": "length"}

func (chat) contentType() string { return "text/event-stream" }

func (chat) usage(u *Usage) any {
	if u == nil {
		return nil
	}
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

func (c chat) whole(s Step) object {
	message := object{"role": "assistant", "content": s.Text, "reasoning_content": s.Thoughts}
	if s.refuses() {
		message["content"], message["refusal"] = nil, s.Text
	}
	return object{
		"id": "call-1", "object": "chat.completion", "model": modelOf(s), "usage": c.usage(s.Usage),
		"choices": []object{{"index": 0, "message": message, "finish_reason": word(s, chatWords)}},
	}
}

func (c chat) stream(s Step) (start string, pieces []string, end string) {
	chunk := func(delta object, finish any) string {
		return event(object{"id": "call-1", "model": modelOf(s), "choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	start = ": comment\n\n" + chunk(object{"role": "assistant", "content": nil}, nil)
	if s.Thoughts != "" {
		start += chunk(object{"reasoning_content": s.Thoughts}, nil)
	}
	field := "content"
	if s.refuses() {
		field = "refusal"
	}
	for _, piece := range split(s) {
		pieces = append(pieces, chunk(object{field: piece}, nil))
	}
	end = chunk(object{}, word(s, chatWords))
	if s.Usage != nil {
		end += event(object{"id": "call-1", "model": modelOf(s), "choices": []object{}, "usage": c.usage(s.Usage)})
	}
	return start, pieces, end + "data: [DONE]\n\n"
}

func (chat) failure() string {
	return event(object{"error": object{"message": "busy", "type": "overloaded_error", "code": 503}})
}

type responses struct{}

func (responses) contentType() string { return "text/event-stream" }

func (responses) whole(s Step) object {
	part := object{"type": "output_text", "text": s.Text, "annotations": []object{}}
	r := object{"id": "call-1", "object": "response", "model": modelOf(s), "status": "completed", "error": nil, "incomplete_details": nil}
	switch s.Finish {
	case "refusal":
		part = object{"type": "refusal", "refusal": s.Text}
	case "refusal, cut off":
		part = object{"type": "refusal", "refusal": s.Text}
		r["status"], r["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	case "length":
		r["status"], r["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	case "content_filter":
		r["status"], r["incomplete_details"] = "incomplete", object{"reason": "content_filter"}
	}
	r["output"] = []object{
		{"type": "reasoning", "summary": []object{{"type": "summary_text", "text": s.Thoughts}}},
		{"type": "message", "role": "assistant", "content": []object{part}},
	}
	if u := s.Usage; u != nil {
		r["usage"] = object{
			"input_tokens": u.Input, "output_tokens": u.Output,
			"input_tokens_details":  object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
			"output_tokens_details": object{"reasoning_tokens": u.Reasoning},
		}
	}
	return r
}

func (r responses) stream(s Step) (start string, pieces []string, end string) {
	start = named("response.created", object{"response": object{"id": "call-1", "status": "in_progress"}})
	for _, piece := range split(s) {
		pieces = append(pieces, named("response.output_text.delta", object{"delta": piece}))
	}
	name := "response.completed"
	if s.Finish == "length" || s.Finish == "content_filter" || s.Finish == "refusal, cut off" {
		name = "response.incomplete"
	}
	return start, pieces, named(name, object{"response": r.whole(s)})
}

func (responses) failure() string {
	return named("error", object{"code": "server_overloaded", "message": "busy", "param": nil})
}

type messages struct{}

var messageWords = object{"stop": "end_turn", "length": "max_tokens", "refusal": "refusal", "refusal, cut off": "refusal", "content_filter": "refusal"}

func (messages) contentType() string { return "text/event-stream" }

func (messages) usage(u *Usage) object {
	return object{
		"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		"output_tokens": u.Output, "output_tokens_details": object{"thinking_tokens": u.Reasoning},
	}
}

func (m messages) whole(s Step) object {
	r := object{
		"id": "call-1", "type": "message", "role": "assistant", "model": modelOf(s), "stop_reason": word(s, messageWords),
		"content": []object{{"type": "thinking", "thinking": s.Thoughts}, {"type": "text", "text": s.Text}},
	}
	if s.Usage != nil {
		r["usage"] = m.usage(s.Usage)
	}
	return r
}

func (m messages) stream(s Step) (start string, pieces []string, end string) {
	first := object{"id": "call-1", "type": "message", "role": "assistant", "model": modelOf(s), "content": []object{}, "stop_reason": nil}
	delta := object{"delta": object{"stop_reason": word(s, messageWords), "stop_sequence": nil}}
	if s.Usage != nil {
		usage := m.usage(s.Usage)
		delta["usage"] = object{"output_tokens": usage["output_tokens"], "output_tokens_details": usage["output_tokens_details"]}
		usage["output_tokens"] = 1 // what it is at the start
		first["usage"] = usage
	}
	start = named("message_start", object{"message": first}) + named("ping", object{}) +
		named("content_block_start", object{"index": 0, "content_block": object{"type": "thinking", "thinking": ""}}) +
		named("content_block_delta", object{"index": 0, "delta": object{"type": "thinking_delta", "thinking": s.Thoughts}}) +
		named("content_block_stop", object{"index": 0}) +
		named("content_block_start", object{"index": 1, "content_block": object{"type": "text", "text": ""}})
	for _, piece := range split(s) {
		pieces = append(pieces, named("content_block_delta", object{"index": 1, "delta": object{"type": "text_delta", "text": piece}}))
	}
	return start, pieces, named("content_block_stop", object{"index": 1}) + named("message_delta", delta) + named("message_stop", object{})
}

func (messages) failure() string {
	return named("error", object{"error": object{"type": "overloaded_error", "message": "Overloaded"}})
}

type gemini struct{}

var geminiWords = object{"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "refusal": "PROHIBITED_CONTENT", "refusal, cut off": "PROHIBITED_CONTENT"}

func (gemini) contentType() string { return "text/event-stream" }

func (gemini) chunk(s Step, parts []object, last bool) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	r := object{"candidates": []object{candidate}, "modelVersion": modelOf(s), "responseId": "call-1"}
	if last {
		candidate["finishReason"] = word(s, geminiWords)
		if u := s.Usage; u != nil {
			r["usageMetadata"] = object{
				"promptTokenCount": u.Input, "cachedContentTokenCount": u.CacheRead,
				"candidatesTokenCount": u.Output - u.Reasoning, "thoughtsTokenCount": u.Reasoning, "totalTokenCount": u.Input + u.Output,
			}
		}
	}
	return r
}

func (g gemini) whole(s Step) object {
	return g.chunk(s, []object{{"text": s.Thoughts, "thought": true}, {"text": s.Text}}, true)
}

func (g gemini) stream(s Step) (start string, pieces []string, end string) {
	start = event(g.chunk(s, []object{{"text": s.Thoughts, "thought": true}}, false))
	for _, piece := range split(s) {
		pieces = append(pieces, event(g.chunk(s, []object{{"text": piece}}, false)))
	}
	return start, pieces, event(g.chunk(s, []object{{"text": ""}}, true))
}

func (gemini) failure() string {
	return event(object{"error": object{"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}})
}

type ollama struct{}

func (ollama) contentType() string { return "application/x-ndjson" }

func (ollama) last(s Step, text string) object {
	r := object{"model": modelOf(s), "message": object{"role": "assistant", "content": text}, "done": true, "done_reason": "stop"}
	if s.Finish == "length" || s.Finish == "refusal, cut off" {
		r["done_reason"] = "length"
	}
	if s.Usage != nil {
		r["prompt_eval_count"], r["eval_count"] = s.Usage.Input, s.Usage.Output
	}
	return r
}

func (o ollama) whole(s Step) object { return o.last(s, s.Text) }

func (o ollama) stream(s Step) (start string, pieces []string, end string) {
	chunk := func(message object) string {
		message["role"] = "assistant"
		return encode(object{"model": modelOf(s), "message": message, "done": false}) + "\n"
	}
	if s.Thoughts != "" {
		start = chunk(object{"content": "", "thinking": s.Thoughts})
	}
	for _, piece := range split(s) {
		pieces = append(pieces, chunk(object{"content": piece}))
	}
	return start, pieces, encode(o.last(s, "")) + "\n"
}

func (ollama) failure() string { return encode(object{"error": "server overloaded"}) + "\n" }
