package completion

import "time"

// minute holds what is sent in any minute below a bound, wherever the minute begins.
// A bucket that fills evenly does not: it gives what it has and what comes in, twice
// the bound in its first minute. A nil minute bounds nothing.
type minute struct {
	most int
	sent []amount // of the last minute, in order
	sum  int
}

type amount struct {
	at time.Time
	n  int
}

// when tells when so much more may be sent. What is more than a minute has may go
// when nothing else was sent for one.
func (m *minute) when(now time.Time, n int) time.Time {
	if m == nil {
		return now
	}
	past := now.Add(-time.Minute)
	for len(m.sent) > 0 && !m.sent[0].at.After(past) {
		m.sum -= m.sent[0].n
		m.sent = m.sent[1:]
	}
	over := m.sum + min(n, m.most) - m.most
	if over <= 0 {
		return now
	}
	for _, s := range m.sent {
		if over -= s.n; over <= 0 {
			return s.at.Add(time.Minute)
		}
	}
	panic("completion: a minute's sum is that of its parts")
}

// add books what is sent. What was more than the bound lets nothing go for a minute,
// no longer.
func (m *minute) add(now time.Time, n int) {
	if m == nil || n <= 0 {
		return
	}
	n = min(n, m.most)
	m.sent = append(m.sent, amount{now, n})
	m.sum += n
}
