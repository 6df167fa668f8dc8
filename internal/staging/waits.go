package staging

import (
	"bytes"
	"os"
	"time"

	"github.com/go-json-experiment/json"
)

// RunWaits are what a run waited for. Times in which several waits went on at once
// count in each of them.
type RunWaits struct {
	Providers []ProviderWaits `json:"providers,omitempty"`         // that refused, did not answer, or were waited for, by name
	Retries   []RetryWaits    `json:"retries,omitempty"`           // in the order of the stages
	OtherRuns float64         `json:"other_runs_seconds,omitzero"` // in which items waited for what another run had begun
}

// ProviderWaits are those for one provider. Paused, Paced and Full are times in which
// somebody waited, and no two of them are counted for one moment.
type ProviderWaits struct {
	Provider   string  `json:"provider"`       // its name in the pipeline
	Calls      int     `json:"calls"`          // requests that were sent, those in vain among them
	Refused    int     `json:"refused"`        // of Calls: it had no room for them (429, 503, 529)
	Unanswered int     `json:"unanswered"`     // of Calls: they timed out, or their connection broke
	Paused     float64 `json:"paused_seconds"` // it refused, or did not answer, and was left alone
	Paced      float64 `json:"paced_seconds"`  // for its block's limits a minute
	Full       float64 `json:"full_seconds"`   // as many calls as may be were under way
	Waited     float64 `json:"waited_seconds"` // of all requests together: of two that wait for a second, two
}

// RetryWaits are those between the attempts of a stage's visits.
type RetryWaits struct {
	Stage   string  `json:"stage"`   // its name
	Retries int     `json:"retries"` // attempts besides the first of each visit
	Seconds float64 `json:"seconds"` // in which one waited
}

// Waiting is a provider that a run waits for at this moment.
type Waiting struct {
	Provider string    `json:"provider"`       // its name in the pipeline
	Requests int       `json:"requests"`       // that wait
	Why      string    `json:"why"`            // refused: it has no room; unanswered: it does not answer; pace: the limits a minute
	Since    time.Time `json:"since"`          // when the first of them began to
	Until    time.Time `json:"until,omitzero"` // when the next request is sent; absent: when the one under way has ended
	Said     string    `json:"said,omitempty"` // by the provider
}

// Waits lets other processes see what this run waits for now. It stands in the file
// that lives as long as the run's process, so it is gone with that, however it ends.
// What cannot be written is nobody's loss but theirs.
func (s *Store) Waits(now []Waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	life := s.claims.life
	if life == nil {
		return
	}
	line, err := json.Marshal(now)
	if err != nil {
		return
	}
	line = append(line, '\n')
	// Only the first line counts, so a longer one from before is never seen behind it.
	if _, err := life.f.WriteAt(line, 0); err == nil {
		_ = life.f.Truncate(int64(len(line)))
	}
}

// waitingOf reads what Waits wrote; what does not read, as in the middle of a write, is
// nothing.
func (s *Store) waitingOf(run string) []Waiting {
	b, err := os.ReadFile(s.lifelinePath(run))
	if err != nil {
		return nil
	}
	line, _, whole := bytes.Cut(b, []byte("\n"))
	var waiting []Waiting
	if !whole || json.Unmarshal(line, &waiting) != nil {
		return nil
	}
	return waiting
}
