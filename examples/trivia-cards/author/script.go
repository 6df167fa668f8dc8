package main

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/internal/text"
)

//go:embed script/*.json
var files embed.FS

// order is the order of the batches, that of buckets.jsonl.
var order = []string{
	"history-easy-1", "history-easy-2", "geography-medium-1", "science-medium-1", "nature-easy-1",
	"technology-medium-1", "literature-medium-1", "language-medium-1", "society-hard-1",
	"visual-arts-medium-1", "music-easy-1", "film-tv-easy-1", "sports-games-medium-1", "geography-hard-1",
}

// mme are the categories that the second crafter writes.
var mme = []string{"visual-arts", "music", "film-tv", "sports-games"}

// Script is all that the models of this example say.
type Script struct{ Batches []*Batch }

// Batch is one file of the script: a line of buckets.jsonl and what comes of it.
type Batch struct {
	Cat        string       `json:"cat"`
	Diff       string       `json:"diff"`
	Batch      int          `json:"batch"`
	Shows      string       `json:"shows"`
	Expect     *Expect      `json:"expect"` // nil: the batch becomes items
	Candidates []*Candidate `json:"candidates"`
}

// Candidate is one topic on its way to a card.
type Candidate struct {
	Title  string  `json:"title"`
	Angle  string  `json:"angle"`
	Shows  string  `json:"shows"`  // what is special about it; empty: nothing
	Expect *Expect `json:"expect"` // nil: accepted

	Crafting  []Attempt `json:"crafting"` // answers before the draft, or instead of it
	Fenced    bool      `json:"fenced"`   // the draft comes in a code fence
	Draft     *Draft    `json:"draft"`
	Verifying []Attempt `json:"verifying"` // answers before the report
	Report    *Verdict  `json:"report"`    // nil: the draft is never delivered
	Repaired  *Repair   `json:"repaired"`
	Rereport  *Verdict  `json:"rereport"` // on the repaired card
	Pages     []Page    `json:"pages"`    // of its reports, those that are not plain

	batch *Batch
}

// Expect says how an item ends.
type Expect struct {
	End    string   `json:"end"`
	Codes  []string `json:"codes"`  // the primary code first
	Cause  string   `json:"cause"`  // the engine's code, where the stage replaces it
	Status string   `json:"status"` // of a stop by a route
}

// Attempt is an answer that does not do.
type Attempt struct {
	Patch        map[string]jsontext.Value `json:"patch"` // of the good answer: a member by its new value, null takes it out
	Cut          int                       `json:"cut"`   // the good answer, cut off after so many bytes
	Refusal      string                    `json:"refusal"`
	FinishReason string                    `json:"finish_reason"` // empty: "stop"
}

// Draft is what a crafter writes; the rest of its card is its topic's.
type Draft struct {
	Topic string   `json:"topic"` // the title of another topic, whose id it writes by mistake
	Q     string   `json:"q"`
	A     string   `json:"a"`
	W     []string `json:"w"`
	X     string   `json:"x"`
}

// Repair is what the repairer writes anew; what is empty stays.
type Repair struct {
	Q string   `json:"q"`
	W []string `json:"w"`
	X string   `json:"x"`
}

// Verdict is a report in short. An accept leaves out what is plain.
type Verdict struct {
	Status       string      `json:"status"` // empty: accept
	Codes        []string    `json:"codes"`
	RepairFields []string    `json:"repair_fields"`
	Reason       string      `json:"reason"`
	Claim        string      `json:"claim"`
	UniqueAnswer *bool       `json:"unique_answer"` // nil: true
	Tried        []string    `json:"tried"`
	Found        bool        `json:"found"`
	Sources      [][2]string `json:"sources"` // address, quote
}

func readScript() (*Script, error) {
	s := &Script{}
	for _, name := range order {
		raw, err := files.ReadFile(path.Join("script", name+".json"))
		if err != nil {
			return nil, err
		}
		b := &Batch{}
		if err := json.Unmarshal(raw, b, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("script/%s.json: %w", name, err)
		}
		for _, c := range b.Candidates {
			c.batch = b
		}
		s.Batches = append(s.Batches, b)
	}
	return s, nil
}

// key is the batch's item key, as the source of the pipeline makes it.
func (b *Batch) key() string { return fmt.Sprintf("%s/%s/%d", b.Cat, b.Diff, b.Batch) }

func (c *Candidate) topicID() string { return topicID(c.batch.Cat, c.Title) }

// topicID is the identity of a topic: two spellings of one title are one topic.
func topicID(cat, title string) string {
	sum := sha256.Sum256([]byte(cat + "\n" + text.Normalize(title)))
	return "t-" + hex.EncodeToString(sum[:6])
}

// The documents that the models write, in the order of their schemas.
type (
	bucket struct {
		Cat   string `json:"cat"`
		Diff  string `json:"diff"`
		Batch int    `json:"batch"`
	}
	proposal struct {
		Cat   string `json:"cat"`
		Diff  string `json:"diff"`
		Title string `json:"title"`
		Angle string `json:"angle"`
	}
	topics struct {
		Cat    string     `json:"cat"`
		Diff   string     `json:"diff"`
		Topics []proposal `json:"topics"`
	}
	topic struct { // as the pipeline hands it to a crafter
		TopicID string `json:"topic_id"`
		Cat     string `json:"cat"`
		Diff    string `json:"diff"`
		Title   string `json:"title"`
		Angle   string `json:"angle"`
	}
	card struct {
		TopicID string   `json:"topic_id"`
		Cat     string   `json:"cat"`
		Diff    string   `json:"diff"`
		Q       string   `json:"q"`
		A       string   `json:"a"`
		W       []string `json:"w"`
		X       string   `json:"x"`
	}
	source struct {
		URL      string   `json:"url"`
		Quote    string   `json:"quote"`
		Supports []string `json:"supports"`
	}
	disproof struct {
		Tried []string `json:"tried"`
		Found bool     `json:"found"`
	}
	report struct {
		Status       string   `json:"status"`
		Codes        []string `json:"codes"`
		RepairFields []string `json:"repair_fields"`
		Reason       string   `json:"reason"`
		Claim        string   `json:"claim"`
		UniqueAnswer bool     `json:"unique_answer"`
		Disproof     disproof `json:"disproof"`
		Sources      []source `json:"sources"`
	}
	verifierInput struct {
		Card card `json:"card"`
	}
	repairInput struct {
		Card   card   `json:"card"`
		Report report `json:"report"`
	}
)

func (b *Batch) bucket() bucket { return bucket{b.Cat, b.Diff, b.Batch} }

func (b *Batch) topics() topics {
	t := topics{Cat: b.Cat, Diff: b.Diff}
	for _, c := range b.Candidates {
		t.Topics = append(t.Topics, proposal{b.Cat, b.Diff, c.Title, c.Angle})
	}
	return t
}

func (c *Candidate) topic() topic {
	return topic{c.topicID(), c.batch.Cat, c.batch.Diff, c.Title, c.Angle}
}

// crafter is the stage that the category routes to.
func (c *Candidate) crafter() string {
	if slices.Contains(mme, c.batch.Cat) {
		return "mme_crafter"
	}
	return "crafter"
}

func (c *Candidate) draft() card {
	d, id := c.Draft, c.topicID()
	if d.Topic != "" {
		id = topicID(c.batch.Cat, d.Topic)
	}
	return card{id, c.batch.Cat, c.batch.Diff, d.Q, d.A, d.W, d.X}
}

func (c *Candidate) repaired() card {
	r := c.draft()
	if c.Repaired.Q != "" {
		r.Q = c.Repaired.Q
	}
	if c.Repaired.W != nil {
		r.W = c.Repaired.W
	}
	if c.Repaired.X != "" {
		r.X = c.Repaired.X
	}
	return r
}

func (v *Verdict) report() report {
	r := report{
		Status: v.Status, Codes: v.Codes, RepairFields: v.RepairFields, Reason: v.Reason, Claim: v.Claim,
		UniqueAnswer: v.UniqueAnswer == nil || *v.UniqueAnswer,
		Disproof:     disproof{v.Tried, v.Found},
	}
	if r.Status == "" {
		r.Status = "accept"
	}
	if r.Reason == "" {
		r.Reason = "Both the claim and the answer stand in the sources, and no other choice fits."
	}
	for _, s := range v.Sources {
		r.Sources = append(r.Sources, source{s[0], s[1], []string{"claim", "answer"}})
	}
	return r
}

// patched is doc with the members of patch, as a model might have got it wrong.
func patched(doc any, patch map[string]jsontext.Value) (string, error) {
	raw, err := json.Marshal(doc)
	if err != nil {
		return "", err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return "", err
	}
	for name, value := range patch {
		if bytes.Equal(value, []byte("null")) {
			delete(members, name)
		} else {
			members[name] = value
		}
	}
	raw, err = json.Marshal(members, json.Deterministic(true))
	return string(raw), err
}
