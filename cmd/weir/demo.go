package main

import (
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"weir/region/demo"
)

func demoCommand() *cobra.Command {
	var opts demo.Options
	var rules string
	var noTraffic, verbose bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run three regions on this machine, with traffic and a dashboard",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rules != "" {
				set, err := readRules(rules)
				if err != nil {
					return err
				}
				opts.Rules = set
			}
			if opts.BasePort < 1 || opts.BasePort > 65535-demo.Ports {
				return usageError{demo.ErrBasePort}
			}
			level := slog.LevelError
			if verbose {
				level = slog.LevelInfo
			}
			opts.Traffic, opts.Out, opts.Version = !noTraffic, cmd.OutOrStdout(), version
			opts.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
			return demo.Run(cmd.Context(), opts)
		},
	}
	cmd.Flags().IntVar(&opts.BasePort, "base-port", 7420, "the first region's gRPC port; HTTP and gossip follow, the next regions begin 10 and 20 higher")
	cmd.Flags().BoolVar(&noTraffic, "no-traffic", false, "send no traffic")
	cmd.Flags().StringVar(&rules, "rules", "", "rules file instead of the demo's own")
	cmd.Flags().DurationVar(&opts.For, "for", 0*time.Second, "stop after this long; 0 runs until Ctrl-C")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "print the nodes' logs")
	return cmd
}
