package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// headings tell a stage by the first line of its prompt.
var headings = map[string]string{
	"# Topic miner":                    "topic_miner",
	"# Crafter":                        "crafter",
	"# Crafter for the arts and games": "mme_crafter",
	"# Verifier":                       "verifier",
	"# Repairer":                       "repairer",
}

// frame begins the last part of every prompt, which is the stage's input; see
// plugins/prompt.
const frame = "<data>\n"

// line is one part of the play: what a stage answers to one input, in the
// order in which it is asked again.
type line struct {
	stage   string
	note    string // for people
	input   any    // what the stage is given
	answers []answer
}

type answer struct {
	text, refusal, finish string
}

// lines are the answers by stage and canonical input.
type lines map[string]*line

func lineKey(stage string, input []byte) (string, error) {
	canonical, err := canon.Canonical(nil, input)
	return stage + " " + string(canonical), err
}

// lines lays the script out by what the prompts hold.
func (s *Script) lines() (lines, error) {
	l := lines{}
	for _, b := range s.Batches {
		if err := l.add("topic_miner", b.key(), b.bucket(), nil, b.topics()); err != nil {
			return nil, err
		}
		for _, c := range b.Candidates {
			if err := l.addCandidate(c); err != nil {
				return nil, fmt.Errorf("%s, %q: %w", b.key(), c.Title, err)
			}
		}
	}
	return l, nil
}

func (l lines) addCandidate(c *Candidate) error {
	if c.Draft == nil {
		return nil // of a batch that is refused
	}
	note := fmt.Sprintf("%s/%s, %s", c.batch.key(), c.topicID(), c.Title)
	draft := c.draft()
	if err := l.add(c.crafter(), note, c.topic(), c.Crafting, draft); err != nil {
		return err
	}
	crafted := l[mustKey(c.crafter(), c.topic())]
	last := len(crafted.answers) - 1
	if c.Fenced {
		crafted.answers[last].text = "```json\n" + crafted.answers[last].text + "\n```"
	}
	if c.Report == nil { // the draft is only what the attempts were made of
		crafted.answers = crafted.answers[:last]
		return nil
	}
	if err := l.add("verifier", note, verifierInput{draft}, c.Verifying, c.Report.report()); err != nil || c.Repaired == nil {
		return err
	}
	if err := l.add("repairer", note, repairInput{draft, c.Report.report()}, nil, c.repaired()); err != nil || c.Rereport == nil {
		return err
	}
	return l.add("verifier", note+", repaired", verifierInput{c.repaired()}, nil, c.Rereport.report())
}

// add enters the attempts and then the good answer to one input.
func (l lines) add(stage, note string, input any, attempts []Attempt, good any) error {
	raw, err := json.Marshal(good)
	if err != nil {
		return err
	}
	play := &line{stage: stage, note: note, input: input}
	for _, a := range attempts {
		said := answer{text: string(raw), refusal: a.Refusal, finish: a.FinishReason}
		switch {
		case a.Refusal != "":
			said.text = ""
		case a.Cut > 0:
			said.text = said.text[:a.Cut]
		default:
			if said.text, err = patched(good, a.Patch); err != nil {
				return err
			}
		}
		play.answers = append(play.answers, said)
	}
	play.answers = append(play.answers, answer{text: string(raw)})
	key := mustKey(stage, input)
	if l[key] != nil {
		return fmt.Errorf("the %s is given the same input twice: %s", stage, key)
	}
	l[key] = play
	return nil
}

// mustKey is the key of an input that this program wrote.
func mustKey(stage string, input any) string {
	raw, err := json.Marshal(input)
	if err == nil {
		var key string
		if key, err = lineKey(stage, raw); err == nil {
			return key
		}
	}
	panic("an input of the script is not JSON: " + err.Error())
}

// find gives the part of the play that a prompt asks for.
func (l lines) find(prompt string) (*line, error) {
	heading, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	stage, ok := headings[strings.TrimSpace(heading)]
	if !ok {
		return nil, fmt.Errorf("no stage has a prompt that begins with %q: tell answer.go of it", heading)
	}
	at := strings.LastIndex(prompt, frame)
	if at < 0 {
		return nil, fmt.Errorf("the prompt of the %s does not end with its input between <data> and </data>: write data = true in its config", stage)
	}
	input, err := jsontext.NewDecoder(strings.NewReader(prompt[at+len(frame):])).ReadValue()
	if err != nil {
		return nil, fmt.Errorf("the input of the %s is not JSON: %w", stage, err)
	}
	key, err := lineKey(stage, input)
	if err != nil {
		return nil, fmt.Errorf("the input of the %s: %w", stage, err)
	}
	if play := l[key]; play != nil {
		return play, nil
	}
	return nil, fmt.Errorf("the script has no answer of the %s to %s: write one in script/", stage, input)
}

// next is the answer after those that the conversation holds already. What is
// asked beyond the script gets the last answer again.
func (p *line) next(conversation string) answer {
	n := 0
	for i, a := range p.answers {
		if a.text != "" && strings.Contains(conversation, a.text) {
			n = i + 1
		}
	}
	return p.answers[min(n, len(p.answers)-1)]
}

// ask finds the part of a request and its next answer. The prompt is the first
// text that begins with a heading, be it the system text or a message.
func (l lines) ask(system string, messages []string) (*line, answer, error) {
	all := append([]string{system}, messages...)
	for i, t := range all {
		if strings.HasPrefix(strings.TrimSpace(t), "# ") {
			play, err := l.find(t)
			if err != nil {
				return nil, answer{}, err
			}
			return play, play.next(strings.Join(all[i+1:], "\n")), nil
		}
	}
	return nil, answer{}, fmt.Errorf("no text of the request begins with the heading of a prompt")
}

// serve is the provider plugin: it takes the place of both vendors.
func serve(script *Script) {
	sdk.ServeProvider(sdk.Provider{
		Info: sdk.ProviderInfo{
			Name: "author", Version: "1", Behaviour: "author/1", WireVersion: "author/1", Schema: true,
			Config: []sdk.Field{{Name: "api_key", Type: "string", Sensitive: true, Doc: "Taken and not used: nothing is called."}},
		},
		Configure: func(_ context.Context, config sdk.ProviderConfig) (sdk.Completer, error) {
			l, err := script.lines()
			if err != nil {
				return nil, err
			}
			return func(_ context.Context, r *sdk.CompletionRequest) (*sdk.CompletionReply, error) {
				return l.complete(config.Model, r)
			}, nil
		},
	})
}

func (l lines) complete(model string, r *sdk.CompletionRequest) (*sdk.CompletionReply, error) {
	var messages []string
	for _, m := range r.GetMessages() {
		var b strings.Builder
		for _, p := range m.GetParts() {
			b.WriteString(p.GetText())
		}
		messages = append(messages, b.String())
	}
	_, said, err := l.ask(r.GetSystem(), messages)
	if err != nil {
		return nil, sdk.InvalidRequest("%v", err)
	}
	reply := &sdk.CompletionReply{
		Text: said.text, Refusal: said.refusal, FinishReason: said.finish, Model: model,
		Usage: &sdk.Usage{
			Input:  tokens(r.GetSystem() + strings.Join(messages, "")),
			Output: tokens(said.text + said.refusal),
		},
	}
	if reply.FinishReason == "" {
		reply.FinishReason = "stop"
	}
	return reply, nil
}

// tokens is the usual estimate for English: four bytes each.
func tokens(s string) int64 { return int64(len(s)+3) / 4 }
