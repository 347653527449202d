package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	weirv1 "weir/proto/weir/v1"
)

func quotaCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "quota", Short: "Show global quotas by region"}
	cmd.AddCommand(quotaListCommand(), quotaGetCommand())
	return cmd
}

func quotaListCommand() *cobra.Command {
	var node nodeFlags
	var in weirv1.ListQuotasRequest
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the quotas counted in current periods, the most used first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, ctx, cancel, err := node.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			defer func() { _ = conn.Close() }() // the answer is in hand
			in.Order = weirv1.QuotaOrder_QUOTA_ORDER_USED
			out, err := weirv1.NewQuotaServiceClient(conn).ListQuotas(ctx, &in)
			if err != nil {
				return node.callError(err)
			}
			return node.print(cmd.OutOrStdout(), out, func(w io.Writer) error {
				if err := printQuotas(w, out.Quotas, out.Regions); err != nil {
					return err
				}
				if out.NextPageToken != "" {
					_, err = fmt.Fprintf(w, "%d of %d; the next page: --page-token %s\n", len(out.Quotas), out.Total, out.NextPageToken)
				}
				return err
			})
		},
	}
	node.add(cmd)
	cmd.Flags().StringVar(&in.Rule, "rule", "", "only this rule's quotas")
	cmd.Flags().StringVar(&in.Search, "search", "", "only keys or rules that contain this text")
	cmd.Flags().Int32Var(&in.PageSize, "page-size", 100, "quotas a page, at most 1000")
	cmd.Flags().StringVar(&in.PageToken, "page-token", "", "where the page begins, as the previous one said")
	return cmd
}

func quotaGetCommand() *cobra.Command {
	var node nodeFlags
	cmd := &cobra.Command{
		Use:   "get RULE [KEY]",
		Short: "Show one quota in its current period, by region",
		Long: `Show one quota in its current period: what each region took, what it may still
let through by itself (rights = share + granted + received - given - taken +
given back), the largest cost it refused for want of rights, and when it was
last heard. Exposure is by how many units the limit will be passed at worst: if
from now on no region hears of another and each lets through all that it may.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := &weirv1.GetQuotaRequest{Rule: args[0]}
			if len(args) > 1 {
				in.Key = args[1]
			}
			conn, ctx, cancel, err := node.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			defer func() { _ = conn.Close() }() // the answer is in hand
			out, err := weirv1.NewQuotaServiceClient(conn).GetQuota(ctx, in)
			if err != nil {
				return node.callError(err)
			}
			return node.print(cmd.OutOrStdout(), out, func(w io.Writer) error {
				return printQuota(w, out.Quota, out.Regions)
			})
		},
	}
	node.add(cmd)
	return cmd
}

func printQuotas(w io.Writer, quotas []*weirv1.Quota, regions []*weirv1.RegionState) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(t, "RULE\tKEY\tUSED\tLIMIT\tEXPOSURE\tRESETS") // Flush reports
	for _, r := range regions {
		_, _ = fmt.Fprintf(t, "\t%s", r.Region)
	}
	_, _ = fmt.Fprintln(t)
	for _, q := range quotas {
		_, _ = fmt.Fprintf(t, "%s\t%q\t%d\t%d\t%d\t%s", q.Rule, q.Key, q.Used, q.Limit, q.Exposure,
			instant(q.PeriodEndUnixSeconds))
		for _, u := range q.ByRegion {
			_, _ = fmt.Fprintf(t, "\t%d", u.Taken-u.GivenBack)
		}
		_, _ = fmt.Fprintln(t)
	}
	for _, r := range regions {
		if r.Touch == weirv1.Touch_TOUCH_CUT_OFF || r.Touch == weirv1.Touch_TOUCH_BEHIND {
			_, _ = fmt.Fprintf(t, "%s is %s\n", r.Region, touchText(r))
		}
	}
	return t.Flush()
}

func touchText(r *weirv1.RegionState) string {
	words := map[weirv1.Touch]string{weirv1.Touch_TOUCH_BEHIND: "behind", weirv1.Touch_TOUCH_CUT_OFF: "cut off"}[r.Touch]
	if r.StalenessMs < 0 {
		return words + ", never heard"
	}
	return fmt.Sprintf("%s, heard %v ago", words, time.Duration(r.StalenessMs)*time.Millisecond)
}
