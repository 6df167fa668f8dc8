package gate

import (
	"context"
	"fmt"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/text"
)

// quotedCheck holds when each source's quote stands on its page, as the check
// "live" has read it in this evaluation, or else as it is read now.
type quotedCheck struct{ sources dag.Expr }

func newQuotedCheck(c *dag.Check) (checker, error) { return &quotedCheck{c.Args["sources"]}, nil }

// judge finds out what is to be read. No source at all proves nothing.
func (c *quotedCheck) judge(s *scope) (result, error) {
	sources, err := decode[[]source](s, c.sources, "sources")
	if err != nil {
		return result{}, err
	}
	if len(sources) == 0 {
		return refused("sources", "there are no sources"), nil
	}
	var missing []Detail
	for i, source := range sources {
		if text.Blank(source.URL) {
			missing = append(missing, Detail{At: fmt.Sprintf("sources[%d].url", i), Why: "there is no URL"})
		}
		if text.Blank(source.Quote) {
			missing = append(missing, Detail{At: fmt.Sprintf("sources[%d].quote", i), Why: "the quote is blank"})
		}
	}
	if len(missing) > 0 {
		return result{state: failed, details: missing, evidence: tellAll(missing)}, nil
	}
	r := passed(nil)
	r.asked = sources
	return r, nil
}

func (c *quotedCheck) online(ctx context.Context, prepared result, w *web) (result, error) {
	if len(prepared.asked) == 0 {
		return result{evidence: "no page was asked for"}, nil
	}
	if err := w.read(ctx, prepared.asked, defaultTimeout); err != nil {
		return result{}, err
	}
	texts := map[string]string{} // of pages in normal form, which is dear to make
	n, absent := 0, false
	var details []Detail
	for i, source := range prepared.asked {
		page := w.page(source.URL)
		if _, ok := texts[source.URL]; !ok {
			texts[source.URL] = text.Normalize(page.Text)
		}
		state, why := quoted(source, page, texts[source.URL])
		if state == held {
			n++
			continue
		}
		absent = absent || state == failed
		details = append(details, Detail{At: fmt.Sprintf("sources[%d].quote", i), Why: why})
	}
	return judged(details, absent, map[string]any{"quotes": n, "given": len(prepared.asked)}).withFigure(n), nil
}

// quoted compares a quote with its page. Where no server answered, where the page
// was not shown, and where nothing of it can be read as text, nothing is known of
// the quote; on a dead page it does not stand.
func quoted(s source, page dag.Page, normal string) (state, string) {
	if why := notLive(s.URL, page); why != "" {
		if page.Verdict == dag.PageDead && !page.NoAnswer {
			return failed, why
		}
		return undecided, why
	}
	if normal == "" {
		return undecided, s.URL + " has no text that can be read"
	}
	missing, ok := text.FindQuote(normal, s.Quote)
	if !ok {
		return failed, fmt.Sprintf("%q does not stand in the first 64 KiB of %s", missing, s.URL)
	}
	return held, ""
}
