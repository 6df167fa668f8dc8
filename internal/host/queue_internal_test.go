package host

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The queue is a list, whatever is done to it in what order.
func TestFifo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q fifo
		var model []uint64
		next := uint64(0)
		made := func() *visit { next++; return &visit{task: Task{Visit: next}} }
		t.Repeat(map[string]func(*rapid.T){
			"push": func(*rapid.T) {
				for range 700 {
					q.push(made())
					model = append(model, next)
				}
			},
			"unshift": func(*rapid.T) {
				q.unshift(made())
				model = append([]uint64{next}, model...)
			},
			"pop": func(t *rapid.T) {
				for range min(len(model), 650) {
					if got := q.peek(); got != q.pop() || got.task.Visit != model[0] {
						t.Fatalf("%d, want %d", got.task.Visit, model[0])
					}
					model = model[1:]
				}
			},
			"remove": func(t *rapid.T) {
				id := rapid.Uint64Range(1, next+1).Draw(t, "id")
				v := q.remove(id)
				at := slices.Index(model, id)
				if (v != nil) != (at >= 0) {
					t.Fatalf("%v, want index %d", v, at)
				}
				if at >= 0 {
					model = slices.Delete(model, at, at+1)
				}
			},
			"take": func(t *rapid.T) {
				odd := func(v *visit) bool { return v.task.Visit%7 == 0 }
				before := len(model)
				model = slices.DeleteFunc(model, func(id uint64) bool { return id%7 == 0 })
				if taken := q.take(odd); len(taken) != before-len(model) {
					t.Fatalf("%d taken, want %d", len(taken), before-len(model))
				}
			},
			"all": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "seldom") > 0 {
					return
				}
				for i, v := range q.all() {
					if v.task.Visit != model[i] {
						t.Fatalf("at %d: %d, want %d", i, v.task.Visit, model[i])
					}
				}
				model = nil
			},
			"": func(t *rapid.T) {
				if q.len() != len(model) {
					t.Fatalf("length %d, want %d", q.len(), len(model))
				}
			},
		})
	})
}

// What is late is found, in any order of starts and stops, and the timer is never
// set later than the next deadline.
func TestDeadlines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := deadlines{fire: func() {}}
		defer d.close()
		now := time.Now().Add(time.Hour) // no timer fires while we look
		running := map[*visit]bool{}
		end, left := map[*visit]time.Time{}, map[*visit]time.Duration{} // what a plain clock says
		var order []*visit
		t.Repeat(map[string]func(*rapid.T){
			"start": func(t *rapid.T) {
				timeout := time.Duration(rapid.IntRange(0, 4).Draw(t, "timeout")) * time.Minute
				v := &visit{task: Task{Timeout: timeout}}
				d.start(v, now)
				end[v] = now.Add(timeout)
				running[v] = timeout > 0
				order = append(order, v)
			},
			"stop": func(t *rapid.T) {
				if len(order) > 0 {
					v := rapid.SampledFrom(order).Draw(t, "visit") // it may have been stopped already
					d.stop(v)
					delete(running, v)
					delete(left, v)
				}
			},
			"pause": func(t *rapid.T) {
				if len(order) == 0 {
					return
				}
				v := rapid.SampledFrom(order).Draw(t, "visit")
				if running[v] {
					d.pause(v, now)
					left[v] = end[v].Sub(now)
					delete(running, v)
				}
			},
			"resume": func(t *rapid.T) {
				if len(order) == 0 {
					return
				}
				v := rapid.SampledFrom(order).Draw(t, "visit")
				if rest, ok := left[v]; ok {
					d.resume(v, now)
					end[v] = now.Add(rest)
					running[v] = true
					delete(left, v)
				}
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 150).Draw(t, "seconds")) * time.Second)
				late := d.expired(now)
				for _, v := range late {
					if !running[v] || end[v].After(now) {
						t.Fatal("not late")
					}
					d.stop(v)
					delete(running, v)
				}
				for v, timed := range running {
					if timed && !end[v].After(now) {
						t.Fatal("late and not found")
					}
				}
			},
			"": func(t *rapid.T) {
				for v, timed := range running {
					if timed && (d.at.IsZero() || d.at.After(end[v])) {
						t.Fatalf("the timer is set for %v, a deadline is %v", d.at, end[v])
					}
				}
			},
		})
	})
}
