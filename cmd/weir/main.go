// Command weir is a multi-region rate limiter: `weir demo` shows it, `weir
// serve` runs one node, the other commands talk to a running node or work on
// files. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 denied (weir check).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes other than 0.
const (
	exitFailed = 1
	exitUsage  = 2
	exitDenied = 3
)

// usageError is wrong usage: a flag, an argument or a configuration file.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// errDenied ends `weir check` of a denied request; its answer says it all.
var errDenied = errors.New("denied")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal asks to stop, a second one ends the process
	os.Exit(run(ctx, os.Args[1:]))
}

// run is main without the process.
func run(ctx context.Context, args []string) int {
	started := false
	root := &cobra.Command{
		Use:           "weir",
		Short:         "A multi-region rate limiter with global quotas",
		SilenceErrors: true,
		SilenceUsage:  true,
		// Errors before a command starts are cobra's about flags and arguments.
		PersistentPreRun: func(*cobra.Command, []string) { started = true },
	}
	root.AddCommand(demoCommand(), serveCommand(), checkCommand(), refundCommand(), quotaCommand(), rulesCommand(), versionCommand())
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errDenied):
		return exitDenied
	case errors.As(err, &usage) || !started:
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	}
	fmt.Fprintln(os.Stderr, "weir:", err)
	return exitFailed
}
