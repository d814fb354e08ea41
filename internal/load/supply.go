package load

import (
	"context"

	"speedmatrix/internal/event"
)

// A supply gives each stream its requests, encoded before they are due. Where every request has a prompt of
// its own, one goroutine writes them ahead of time; otherwise a stream has two: the staggered first, and the full one.
type supply struct {
	first, full []order // by stream; empty under event.Fresh

	ahead []chan order // by stream; under event.Fresh
	want  chan wanted
	stop  context.CancelFunc
	done  chan struct{}
	err   error // why the writer ended; read after done is closed
}

type wanted struct{ stream, ordinal int }

// writtenAhead is how many fresh prompts of each stream are ready before they are due.
const writtenAhead = 2

func (l *Loader) newSupply(ctx context.Context, cell Cell) (*supply, error) {
	if l.cfg.Prompts == event.Fresh {
		return l.newFreshSupply(ctx, cell), nil
	}
	s := &supply{}
	extras := l.extras(cell)
	for i := range cell.Concurrency {
		full, err := l.order(ctx, cell, i, 0, 0)
		if err != nil {
			return nil, err
		}
		first := full
		if extras[i] > 0 {
			if first, err = l.order(ctx, cell, i, 0, extras[i]); err != nil {
				return nil, err
			}
		}
		s.first, s.full = append(s.first, first), append(s.full, full)
	}
	return s, nil
}

// next is the request of a stream's ordinal. It waits only when fresh prompts are written too slowly.
func (s *supply) next(ctx context.Context, stream, ordinal int) (order, error) {
	if s.ahead == nil {
		if ordinal == 0 {
			return s.first[stream], nil
		}
		return s.full[stream], nil
	}
	select {
	case o := <-s.ahead[stream]:
		s.want <- wanted{stream, ordinal + writtenAhead}
		return o, nil
	case <-s.done:
		return order{}, s.err
	case <-ctx.Done():
		return order{}, ctx.Err()
	}
}

// end stops the writer and waits for it.
func (s *supply) end() {
	if s.stop != nil {
		s.stop()
		<-s.done
	}
}

func (l *Loader) newFreshSupply(ctx context.Context, cell Cell) *supply {
	ctx, cancel := context.WithCancel(ctx)
	s := &supply{
		ahead: make([]chan order, cell.Concurrency),
		want:  make(chan wanted, cell.Concurrency*(writtenAhead+1)),
		stop:  cancel,
		done:  make(chan struct{}),
	}
	for i := range s.ahead {
		s.ahead[i] = make(chan order, writtenAhead)
	}
	for n := range writtenAhead {
		for i := range s.ahead {
			s.want <- wanted{i, n}
		}
	}
	extras := l.extras(cell)
	go func() {
		defer close(s.done)
		for {
			select {
			case <-ctx.Done():
				return
			case w := <-s.want:
				extra := 0
				if w.ordinal == 0 {
					extra = extras[w.stream]
				}
				o, err := l.order(ctx, cell, w.stream, w.ordinal, extra)
				if err != nil {
					s.err = err
					return
				}
				s.ahead[w.stream] <- o
			}
		}
	}()
	return s
}
