package region

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Budgets of the steps that end a node. Each step has its own, so that one that
// takes all of it leaves the next no less; together they stay under the 20 s
// that `weir serve` drains for.
const (
	// doorBudget is how long calls inside may take before they are cut off.
	doorBudget = 3 * time.Second
	// workBudget, for what the node does by itself: it stops when told to.
	workBudget = 2 * time.Second
	// leaveBudget, for telling peers what they have not heard, and good-bye.
	leaveBudget = 4 * time.Second
	// saveBudget, for the last snapshot.
	saveBudget = 5 * time.Second
	// closeBudget, for letting go of files, sockets and connections.
	closeBudget = time.Second
	// abandonAfter is how long after its budget a step may still take to heed
	// it; then the next begins.
	abandonAfter = time.Second
)

// cleanups are what ends a node: each is added when what it ends has begun, and
// they run last in, first out.
type cleanups struct {
	log   *slog.Logger
	steps []cleanup
}

type cleanup struct {
	name   string
	budget time.Duration
	// heeds says that the step also ends with the caller's context.
	heeds bool
	run   func(context.Context) error
}

// add adds a step that has its budget whatever the caller's context says.
func (c *cleanups) add(name string, budget time.Duration, run func(context.Context) error) {
	c.steps = append(c.steps, cleanup{name: name, budget: budget, run: run})
}

// addHeeding adds a step that the caller's context may cut short.
func (c *cleanups) addHeeding(name string, budget time.Duration, run func(context.Context) error) {
	c.steps = append(c.steps, cleanup{name: name, budget: budget, heeds: true, run: run})
}

// run ends everything; a step that fails or takes too long does not keep the
// next from running.
func (c *cleanups) run(ctx context.Context) error {
	var errs []error
	for len(c.steps) > 0 {
		last := c.steps[len(c.steps)-1]
		c.steps = c.steps[:len(c.steps)-1]
		if err := last.end(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", last.name, err))
			continue
		}
		c.log.Debug("stopped", "what", last.name)
	}
	return errors.Join(errs...)
}

func (c *cleanup) end(ctx context.Context) error {
	if !c.heeds {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, c.budget)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.run(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(abandonAfter):
		return fmt.Errorf("not done within %v: %w", c.budget, ctx.Err())
	}
}
