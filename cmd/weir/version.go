package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// version is the release; the build of a tagged commit sets it by
// -ldflags "-X main.version=…".
var version = "0.1.0-dev"

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "weir", version)
			return err
		},
	}
}
