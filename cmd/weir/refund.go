package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	weirv1 "weir/proto/weir/v1"
)

func refundCommand() *cobra.Command {
	var node nodeFlags
	var units uint64
	cmd := &cobra.Command{
		Use:   "refund RECEIPT",
		Short: "Give back what an allowed check charged",
		Example: `  weir check user=u order=17            # prints the receipt, when there is one
  weir refund AQJldQ...                 # all of it
  weir refund AQJldQ... --units 3       # part; the rest stays charged`,
		Long: `Give back what an allowed check charged to the quotas of refundable rules. A
receipt is refunded once, however often it is sent. Any node takes it: one of
another region passes it on to the region that charged.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := refundRequest(args[0], units, cmd.Flags().Changed("units"))
			if err != nil {
				return usageError{err}
			}
			conn, ctx, cancel, err := node.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			defer func() { _ = conn.Close() }() // the answer is in hand
			out, err := weirv1.NewLimiterServiceClient(conn).Refund(ctx, in)
			if err != nil {
				return node.callError(err)
			}
			return node.print(cmd.OutOrStdout(), out, func(w io.Writer) error { return printRefund(w, out) })
		},
	}
	node.add(cmd)
	cmd.Flags().Uint64Var(&units, "units", 0, "units to give back to each quota; unset is the check's cost")
	return cmd
}

func refundRequest(receipt string, units uint64, some bool) (*weirv1.RefundRequest, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(receipt))
	if err != nil || len(b) == 0 {
		return nil, errors.New("RECEIPT: not one: write it as weir check printed it, in base64")
	}
	in := &weirv1.RefundRequest{Receipt: b}
	if some {
		if units == 0 {
			return nil, errors.New("--units 0: must be at least 1; leave it out for the check's cost")
		}
		in.Units = &units
	}
	return in, nil
}

func printRefund(w io.Writer, out *weirv1.RefundResponse) error {
	if out.State == weirv1.RefundState_REFUND_STATE_FORWARDED {
		_, err := fmt.Fprintf(w, "passed on to %s, which charged; it is refunded there once that region is in touch\n", out.Region)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "RULE\tKEY\tGIVEN BACK\tSAYS") // Flush reports
	for _, q := range out.Quotas {
		_, _ = fmt.Fprintf(t, "%s\t%q\t%d\t%s\n", q.Rule, q.Key, q.Units, refundText(q.State))
	}
	return t.Flush()
}

func refundText(s weirv1.RefundState) string {
	switch s {
	case weirv1.RefundState_REFUND_STATE_REFUNDED:
		return "refunded"
	case weirv1.RefundState_REFUND_STATE_ALREADY:
		return "nothing left to give back"
	case weirv1.RefundState_REFUND_STATE_ENDED:
		return "too late: its period is over, or the quota or its store began anew"
	}
	return enumText(s.String(), "REFUND_STATE_")
}
