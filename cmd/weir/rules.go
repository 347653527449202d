package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"weir/limiter/rule"
	"weir/region/config"
)

func rulesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "rules", Short: "Work on rules files"}
	cmd.AddCommand(&cobra.Command{
		Use:   "validate FILE ...",
		Short: "Check rules files; exit code 2 when one is wrong",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, path := range args {
				set, err := readRules(path)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %d rules, all in order\n", path, len(set.Rules)); err != nil {
					return err
				}
			}
			return nil
		},
	})
	return cmd
}

// readRules reads a rules file; what is wrong with it is wrong usage.
func readRules(path string) (*rule.Set, error) {
	data, err := config.ReadFile(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("rules: %w", err)}
	}
	set, err := rule.Parse(path, data)
	if err != nil {
		return nil, usageError{err}
	}
	return set, nil
}
