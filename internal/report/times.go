package report

import (
	"strconv"

	"github.com/penstock-run/penstock/internal/engine"
)

// timesView is the timeline as it is shown.
type timesView struct {
	From, To, Span, Step, Peak string
	Times                      []timeRow
}

type timeRow struct {
	Stage, Visits, First, Last, Mean, Longest string
	Wide                                      int
	Bars                                      []timeBar
}

type timeBar struct{ X, Y, Height string }

// barHeight is that of the highest bar, in units of the little pictures; below it
// there is a line.
const barHeight = 28

func newTimes(t *engine.Timeline) timesView {
	if t == nil {
		return timesView{}
	}
	v := timesView{From: when(t.From), To: when(t.To), Span: took(t.To.Sub(t.From)), Step: took(seconds(t.Step))}
	most := 0.0
	for _, s := range t.Stages {
		for _, n := range s.AtOnce {
			most = max(most, n)
		}
	}
	v.Peak = strconv.FormatFloat(most, 'g', 3, 64)
	for _, s := range t.Stages {
		row := timeRow{
			Stage: plain(s.Stage), Visits: number(s.Visits), First: "+" + took(s.First.Sub(t.From)), Last: "+" + took(s.Last.Sub(t.From)),
			Mean: took(seconds(s.Busy / float64(s.Visits))), Longest: took(seconds(s.Longest)), Wide: len(s.AtOnce),
		}
		for i, n := range s.AtOnce {
			if n == 0 {
				continue
			}
			height := max(1, barHeight*n/most) // what was there is seen
			row.Bars = append(row.Bars, timeBar{decimal(float64(i) + 0.05), decimal(barHeight + 1 - height), decimal(height)})
		}
		v.Times = append(v.Times, row)
	}
	return v
}
