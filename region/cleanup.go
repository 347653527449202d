package region

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// cleanups are what ends a node: each is added when what it ends has begun, and
// they run last in, first out, all under the caller's deadline.
type cleanups struct {
	log   *slog.Logger
	steps []cleanup
}

type cleanup struct {
	name string
	run  func(context.Context) error
}

func (c *cleanups) add(name string, run func(context.Context) error) {
	c.steps = append(c.steps, cleanup{name, run})
}

// run ends everything; a step that fails does not keep the next from running.
func (c *cleanups) run(ctx context.Context) error {
	var errs []error
	for len(c.steps) > 0 {
		last := c.steps[len(c.steps)-1]
		c.steps = c.steps[:len(c.steps)-1]
		if err := last.run(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", last.name, err))
			continue
		}
		c.log.Debug("stopped", "what", last.name)
	}
	return errors.Join(errs...)
}
