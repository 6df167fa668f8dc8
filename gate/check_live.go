package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/fetch"
	"github.com/penstock-run/penstock/internal/text"
	"github.com/penstock-run/penstock/internal/weburl"
)

// liveCheck holds when every URL is live. Whether one is, is the reader's to say:
// package internal/fetch has the rules.
type liveCheck struct {
	urls    dag.Expr
	timeout time.Duration // of one attempt
	doubt   bool          // blocked = "undecided": a blocked page refuses nothing
	canary  string        // empty: none
}

func newLiveCheck(c *dag.Check) (checker, error) {
	check := &liveCheck{urls: c.Args["urls"]}
	var err error
	if check.timeout, err = constantDuration(c, "timeout", defaultTimeout); err != nil {
		return nil, err
	}
	blocked, err := constant(c, "blocked", "dead")
	if err != nil {
		return nil, err
	}
	if blocked != "dead" && blocked != "undecided" {
		return nil, fmt.Errorf(`blocked is %q; it may be "dead", which it is where it is left out, or "undecided"`, blocked)
	}
	check.doubt = blocked == "undecided"
	if check.canary, err = constant(c, "canary", ""); err != nil {
		return nil, err
	}
	if c.Args["canary"] != nil {
		if _, err := weburl.Key(check.canary); err != nil {
			return nil, fmt.Errorf("canary is %q: %w", check.canary, err)
		}
	}
	return check, nil
}

// judge finds out what is to be read. No URL at all proves nothing, and a source
// without one, null or blank, is not live.
func (c *liveCheck) judge(s *scope) (result, error) {
	urls, err := decode[[]string](s, c.urls, "urls")
	if err != nil {
		return result{}, err
	}
	if len(urls) == 0 {
		return refused("urls", "there are no URLs"), nil
	}
	prepared := passed(nil)
	var missing []Detail
	for i, url := range urls {
		if text.Blank(url) {
			missing = append(missing, Detail{At: fmt.Sprintf("urls[%d]", i), Why: "there is no URL"})
		}
		prepared.asked = append(prepared.asked, source{URL: url})
	}
	if len(missing) > 0 {
		return result{state: failed, details: missing, evidence: tellAll(missing)}, nil
	}
	return prepared, nil
}

func (c *liveCheck) online(ctx context.Context, prepared result, w *web) (result, error) {
	if len(prepared.asked) == 0 {
		return result{evidence: "no address was asked for"}, nil
	}
	if err := w.read(ctx, prepared.asked, c.timeout); err != nil {
		return result{}, err
	}
	if err := c.ask(ctx, prepared.asked, w); err != nil {
		return result{}, err
	}
	live, dead := 0, false
	var details []Detail
	told := map[string]bool{}
	for i, s := range prepared.asked {
		page := w.page(s.URL)
		why := notLive(s.URL, page)
		if why == "" {
			live++
			continue
		}
		dead = dead || page.Verdict == dag.PageDead || page.Verdict == dag.PageBlocked && !c.doubt
		if !told[s.URL] {
			details = append(details, Detail{At: fmt.Sprintf("urls[%d]", i), Why: why})
			told[s.URL] = true
		}
	}
	return judged(details, dead, map[string]any{"pages": w.rowsOf(prepared.asked)}).withFigure(live), nil
}

// ask asks the canary where no address was answered: when it is not live either,
// the fault is on this side, and no source is dead for that.
func (c *liveCheck) ask(ctx context.Context, asked []source, w *web) error {
	if c.canary == "" {
		return nil
	}
	for _, s := range asked {
		if page := w.page(s.URL); page.Verdict == dag.PageLive || !page.NoAnswer {
			return nil
		}
	}
	canary, err := w.readOne(fetch.Anew(ctx), c.canary, c.timeout)
	if err != nil {
		return err
	}
	if why := notLive(c.canary, *canary); why != "" {
		return &dag.Error{
			Op: "read the web", Kind: dag.KindInfrastructure, Code: dag.EUnavailable,
			Err:  errors.New("no address is answered, and the canary is not live either: " + why),
			Hint: "see to the network of this machine; what is parked goes on with the next run",
		}
	}
	return nil
}
