package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"weir/region"
	"weir/region/config"
)

// drainBudget bounds a node's stop: Kubernetes kills after 30 s.
const drainBudget = 20 * time.Second

func serveCommand() *cobra.Command {
	var path string
	var printConfig bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run one node",
		Long: `Run one node of a region. Every field of weir.yaml is also a flag and a
WEIR_... environment variable; a flag wins over the environment, which wins
over the file.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.LoadFile(cmd.Flags(), os.Environ(), path)
			if err != nil {
				return usageError{err}
			}
			if printConfig {
				return cfg.Print(cmd.OutOrStdout())
			}
			opts, err := nodeOptions(cfg, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return serve(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&path, "config", config.EnvDefault("WEIR_CONFIG", ""), "path of weir.yaml (WEIR_CONFIG)")
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print what is in force and where it came from, and exit")
	config.AddFlags(cmd.Flags())
	return cmd
}

// nodeOptions reads the files that the configuration names.
func nodeOptions(cfg *config.Config, logTo io.Writer) (region.Options, error) {
	opts := region.Options{Config: cfg, Version: version, Log: slog.New(slog.NewTextHandler(logTo, nil))}
	rules, err := readRules(cfg.Rules)
	if err != nil {
		return opts, err
	}
	opts.Rules = rules
	if cfg.Gossip.KeyringFile != "" {
		opts.Keyring, err = region.ReadKeyring(cfg.Gossip.KeyringFile)
		if err != nil {
			return opts, usageError{fmt.Errorf("gossip.keyring_file: %w", err)}
		}
	}
	return opts, nil
}

// serve runs the node until the context ends or the node gives up.
func serve(ctx context.Context, opts region.Options) error {
	node, err := region.Start(ctx, opts)
	if err != nil {
		return err
	}
	opts.Log.Info("serving", "grpc", node.GRPCAddr(), "http", node.HTTPAddr(), "gossip", node.GossipAddr())
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-node.Failed():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainBudget)
	defer cancel()
	return errors.Join(failed, node.Stop(stop))
}
