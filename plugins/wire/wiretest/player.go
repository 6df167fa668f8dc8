package wiretest

import (
	"errors"
	"slices"
	"testing"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// Player is a server that does steps when it is told to.
type Player interface {
	// Plays tells whether the server can do a step of a case of the suite. A case
	// is named with its group, as in "answers/empty".
	Plays(name string, s Step) bool
	// Play begins a script: one step a request, the last one for ever.
	Play(t *testing.T, steps ...Step) Played
}

// Played is a server that follows a script.
type Played struct {
	URL   string           // without a path
	Asked func() []Request // since the script began
}

// own is the server of this package, which does every step.
type own struct{}

func (own) Plays(string, Step) bool { return true }

func (own) Play(t *testing.T, steps ...Step) Played {
	s := Serve(t, steps...)
	return Played{URL: s.URL, Asked: s.Asked}
}

// suite is a run of the suite.
type suite struct {
	Wire
	player Player
	in     string   // the group that runs
	left   []string // cases that the player could not do
}

func (s *suite) group(t *testing.T, name string, cases func(t *testing.T)) {
	s.in = name
	t.Run(name, cases)
}

// run runs a case on a server that does its steps.
func (s *suite) run(t *testing.T, name string, check func(t *testing.T, at Played), steps ...Step) {
	full := s.in + "/" + name
	if slices.ContainsFunc(steps, func(step Step) bool { return !s.player.Plays(full, step) }) {
		s.left = append(s.left, full)
		return
	}
	t.Run(name, func(t *testing.T) { check(t, s.player.Play(t, steps...)) })
}

// ask asks once.
func (s *suite) ask(t *testing.T, at Played) (*sdk.CompletionReply, error) {
	t.Helper()
	return s.completer(t, at.URL, nil)(t.Context(), Prompt())
}

// fails runs a case that ends in an error of a kind, after one request at most.
func (s *suite) fails(t *testing.T, name, kind string, step Step, more ...func(*testing.T, *sdk.ProviderError)) {
	t.Helper()
	s.run(t, name, func(t *testing.T, at Played) {
		_, err := s.ask(t, at)
		var p *sdk.ProviderError
		if !errors.As(err, &p) {
			t.Fatalf("got %v, want a *sdk.ProviderError", err)
		}
		if n := len(at.Asked()); n > 1 {
			t.Errorf("the server was asked %d times", n)
		}
		if p.Kind.String() != kind {
			t.Errorf("got %s (%s), want %s", p.Kind, p.Message, kind)
		}
		for _, check := range more {
			check(t, p)
		}
	}, step)
}
