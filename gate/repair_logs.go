package gate

import (
	"bytes"
	"io"
	"maps"
	"slices"
)

// logs brings the files of verdicts and breakers to rows in the form that the gate
// writes. What a row says is not changed.
func (r *repair) logs() (changed bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(r.a.logs)) {
		log := r.a.logs[name]
		if len(log.moveable) == 0 && len(log.forms) == 0 && !log.torn || log.conflict {
			continue
		}
		if err := r.log(log); err != nil {
			return changed, err
		}
		changed = true
	}
	return changed, nil
}

func (r *repair) log(log *logSeen) error {
	v, err := r.a.view(log.name)
	if err != nil {
		return err
	}
	defer v.close()
	m := &moving{r: r, name: log.name}
	err = v.eachUnit(r.ctx, func(u *unit) error {
		switch {
		case u.torn && u.text == nil:
			m.moveTorn(u.n, u.raw)
		case log.moveable[u.n]:
			m.move("no row", u.n, u.raw, "what is no row, or stands here twice, was taken out")
		case u.form != asWritten:
			m.move("form", u.n, u.raw, "the row was written in the form of the gate")
		case u.torn:
			r.did("torn", log.name, u.n, "the last line was ended")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return m.finish(func(w io.Writer) error {
		return v.eachUnit(r.ctx, func(u *unit) error {
			if u.text == nil || log.moveable[u.n] {
				return nil
			}
			_, err := w.Write(append(bytes.Clone(u.text), '\n'))
			return err
		})
	})
}
