package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// Completion is a completion that a visit asks for.
type Completion struct {
	visit    *Visit
	provider *dag.Provider
	request  *proto.CompletionRequest
	begun    time.Time
	free     time.Time // since when it waits to be sent
	attempts int
}

// Complete begins a completion. The attempts at it follow each other.
func (v *Visit) Complete(p *dag.Provider, request *proto.CompletionRequest) *Completion {
	if v == nil {
		return nil
	}
	now := time.Now()
	return &Completion{visit: v, provider: p, request: request, begun: now, free: now}
}

// Attempt is one call of a provider.
type Attempt struct {
	of    *Completion
	span  trace.Span
	begun time.Time
}

// Attempt begins a call; that it was waited for, for capacity or for the next
// attempt, counts among the waits.
func (c *Completion) Attempt() *Attempt {
	if c == nil {
		return nil
	}
	c.attempts++
	now := time.Now()
	r := c.visit.run
	r.waits.Record(context.Background(), now.Sub(c.free).Seconds(), metric.WithAttributes(attribute.String(callProvider, c.provider.Name)))
	a := &Attempt{of: c, begun: now}
	all := append(c.asked(), attribute.Int(callAttempt, c.attempts), attribute.String(callOrigin, "live"))
	_, a.span = r.tracer.Start(c.visit.context, c.name(), trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(now), trace.WithAttributes(all...))
	return a
}

// End ends a call. canceled says that nobody waited for its end.
func (a *Attempt) End(reply *proto.CompletionReply, failed error, canceled bool, peer dag.Peer) {
	if a == nil {
		return
	}
	now := time.Now()
	a.of.free = now
	kind := kindOf(reply)
	switch {
	case canceled:
		kind = "canceled"
	case failed != nil:
		kind = "unavailable"
	}
	a.span.SetAttributes(peered(peer)...)
	a.span.SetAttributes(a.of.answered(reply)...)
	if kind != "" {
		wrong(a.span, kind)
	}
	a.span.End(trace.WithTimestamp(now))
	a.of.measure(reply, now.Sub(a.begun), kind, peer)
}

// measure books what a call took, as the conventions have it.
func (c *Completion) measure(reply *proto.CompletionReply, took time.Duration, kind string, peer dag.Peer) {
	of := append(peered(peer), attribute.String(operationName, operationChat), attribute.String(requestModel, c.provider.Model))
	if model := c.told(reply.GetModel()); model != "" {
		of = append(of, attribute.String(responseModel, model))
	}
	r, ctx := c.visit.run, context.Background()
	used := reply.GetUsage()
	for _, t := range []struct {
		kind  string
		count int64
	}{{"input", used.GetInput()}, {"output", used.GetOutput()}} {
		if t.count > 0 {
			r.tokens.Record(ctx, t.count, metric.WithAttributes(of...), metric.WithAttributes(attribute.String(tokenType, t.kind)))
		}
	}
	if kind != "" {
		of = append(of, attribute.String(errorType, kind))
	}
	r.duration.Record(ctx, took.Seconds(), metric.WithAttributes(of...))
}

// End tells of a completion that no call was made for: one that was answered
// from the cache or a cassette, or refused before it was sent.
func (c *Completion) End(reply *proto.CompletionReply, peer dag.Peer) {
	if c == nil || c.attempts > 0 && reply.GetOrigin() != "cache" {
		return
	}
	all := append(append(c.asked(), peered(peer)...), c.answered(reply)...)
	if origin := reply.GetOrigin(); origin != "" {
		all = append(all, attribute.String(callOrigin, origin))
	}
	_, span := c.visit.run.tracer.Start(c.visit.context, c.name(), trace.WithTimestamp(c.begun), trace.WithAttributes(all...))
	if kind := kindOf(reply); kind != "" {
		wrong(span, kind)
	}
	span.End()
}

func (c *Completion) name() string { return operationChat + " " + c.provider.Model }

// asked is what a request asks for, without a word of its content.
func (c *Completion) asked() []attribute.KeyValue {
	all := []attribute.KeyValue{
		attribute.String(operationName, operationChat), attribute.String(requestModel, c.provider.Model), attribute.String(callProvider, c.provider.Name),
	}
	if len(c.request.GetSchema()) > 0 {
		all = append(all, attribute.String(outputType, "json"))
	}
	if s := c.request.GetSampling(); s != nil {
		if s.MaxTokens != nil {
			all = append(all, attribute.Int64(requestMax, s.GetMaxTokens()))
		}
		if s.Seed != nil {
			all = append(all, attribute.Int64(requestSeed, s.GetSeed()))
		}
		if s.Temperature != nil {
			all = append(all, attribute.Float64(requestTemp, s.GetTemperature()))
		}
		if s.TopP != nil {
			all = append(all, attribute.Float64(requestTopP, s.GetTopP()))
		}
	}
	return all
}

// answered is what a reply tells of itself, without a word of its content.
func (c *Completion) answered(reply *proto.CompletionReply) []attribute.KeyValue {
	var all []attribute.KeyValue
	for _, text := range []struct{ name, value string }{{responseModel, reply.GetModel()}, {responseID, reply.GetRequestId()}} {
		if value := c.told(text.value); value != "" {
			all = append(all, attribute.String(text.name, value))
		}
	}
	if reason := reply.GetFinishReason(); reason != "" {
		all = append(all, attribute.StringSlice(responseReasons, []string{c.told(reason)}))
	}
	if u := reply.GetUsage(); u != nil {
		for _, n := range []struct {
			name  string
			count int64
		}{{usageInput, u.Input}, {usageOutput, u.Output}, {usageCacheRead, u.CachedInput}, {usageCacheMade, u.CacheWrite}, {usageReasoning, u.Reasoning}} {
			if n.count > 0 || n.name == usageInput || n.name == usageOutput {
				all = append(all, attribute.Int64(n.name, max(0, n.count)))
			}
		}
	}
	return all
}

// told is a text of a server's, which may say anything: never a secret that it
// was sent, and never long.
func (c *Completion) told(text string) string {
	for _, form := range dag.SecretForms(c.provider.Secrets) {
		if strings.Contains(text, form) {
			return ""
		}
	}
	return clip(strings.ToValidUTF8(text, ""))
}

// kindOf is the word for a reply's error; empty where it has none.
func kindOf(reply *proto.CompletionReply) string {
	e := reply.GetError()
	switch {
	case e == nil:
		return ""
	case e.GetKind() == proto.ProviderError_UNSPECIFIED:
		return errorOther
	}
	return strings.ToLower(e.GetKind().String())
}

// peered names whom a provider block calls.
func peered(p dag.Peer) []attribute.KeyValue {
	var all []attribute.KeyValue
	if p.System != "" {
		all = append(all, attribute.String(providerName, clip(p.System)))
	}
	if p.Address != "" {
		all = append(all, attribute.String(serverAddress, clip(p.Address)), attribute.Int64(serverPort, int64(p.Port)))
	}
	return all
}
