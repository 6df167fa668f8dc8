package host

import "time"

// deadlines keeps the timeouts of one process's visits with one timer. The
// visits of a stage share their timeout, so a list for each timeout is in order
// of deadlines by itself: to start and to stop one costs no search, and the timer
// is set anew only when it fires or when something ends earlier than it would.
// The slot's lock is held in every method.
type deadlines struct {
	lists map[time.Duration]*deadlineList
	timer *time.Timer
	at    time.Time // when the timer fires; zero: it is not set
	fire  func()
}

type deadlineList struct{ first, last *visit }

func (d *deadlines) start(v *visit, now time.Time) { d.run(v, v.task.Timeout, now) }

// pause stops the visit's time; resume lets it go on with what was left.
func (d *deadlines) pause(v *visit, now time.Time) {
	if v.pauses++; v.pauses > 1 || v.list == nil {
		return
	}
	v.left = max(v.deadline.Sub(now), time.Nanosecond)
	d.stop(v)
}

func (d *deadlines) resume(v *visit, now time.Time) {
	if v.pauses--; v.pauses > 0 || v.left == 0 {
		return
	}
	d.run(v, v.left, now)
	v.left = 0
}

// run lets the visit end after left. It belongs at the end of its list, but
// for one that stood still: those before it may have more time.
func (d *deadlines) run(v *visit, left time.Duration, now time.Time) {
	timeout := v.task.Timeout
	if timeout <= 0 {
		return
	}
	if d.lists == nil {
		d.lists = make(map[time.Duration]*deadlineList)
	}
	list := d.lists[timeout]
	if list == nil {
		list = &deadlineList{}
		d.lists[timeout] = list
	}
	v.deadline, v.list = now.Add(left), list
	v.prev, v.next = list.last, nil
	for v.prev != nil && v.prev.deadline.After(v.deadline) {
		v.next, v.prev = v.prev, v.prev.prev
	}
	if v.prev == nil {
		list.first = v
	} else {
		v.prev.next = v
	}
	if v.next == nil {
		list.last = v
	} else {
		v.next.prev = v
	}
	d.set(v.deadline, now)
}

func (d *deadlines) set(at, now time.Time) {
	if !d.at.IsZero() && !at.Before(d.at) {
		return
	}
	d.at = at
	if d.timer == nil {
		d.timer = time.AfterFunc(at.Sub(now), d.fire)
		return
	}
	d.timer.Reset(at.Sub(now))
}

func (d *deadlines) stop(v *visit) {
	if v.list == nil {
		return
	}
	if v.prev == nil {
		v.list.first = v.next
	} else {
		v.prev.next = v.next
	}
	if v.next == nil {
		v.list.last = v.prev
	} else {
		v.next.prev = v.prev
	}
	v.prev, v.next, v.list = nil, nil, nil
}

// expired gives the visits that are late, which stay in their lists until they
// are stopped, and sets the timer for the next one.
func (d *deadlines) expired(now time.Time) []*visit {
	d.at = time.Time{}
	var late []*visit
	for _, list := range d.lists {
		v := list.first
		for ; v != nil && !v.deadline.After(now); v = v.next {
			late = append(late, v)
		}
		if v != nil {
			d.set(v.deadline, now)
		}
	}
	return late
}

func (d *deadlines) close() {
	if d.timer != nil {
		d.timer.Stop()
	}
}
