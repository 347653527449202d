package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	weirv1 "weir/proto/weir/v1"
)

func checkCommand() *cobra.Command {
	var node nodeFlags
	var domain string
	var cost uint64
	cmd := &cobra.Command{
		Use:   "check KEY=VALUE ...",
		Short: "Make one decision, explained",
		Example: `  weir check api_key=sk_live_abc method=POST path=/v1/charges
  weir check ip=198.18.0.7 --cost 0     # a look that consumes nothing`,
		Long: "Make one decision: which rules matched, what each said, and why.\nExit code 3 when denied.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			attrs, err := attributes(args)
			if err != nil {
				return usageError{err}
			}
			if domain != "" {
				attrs["domain"] = domain
			}
			conn, ctx, cancel, err := node.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			defer func() { _ = conn.Close() }() // the answer is in hand
			out, err := weirv1.NewLimiterServiceClient(conn).Check(ctx,
				&weirv1.CheckRequest{Attributes: attrs, Cost: &cost, Explain: true})
			if err != nil {
				return node.callError(err)
			}
			if err := node.print(cmd.OutOrStdout(), out, func(w io.Writer) error { return printCheck(w, out) }); err != nil {
				return err
			}
			if !out.Allowed {
				return errDenied
			}
			return nil
		},
	}
	node.add(cmd)
	cmd.Flags().StringVar(&domain, "rule-domain", "", "the attribute domain, as Envoy sends it")
	cmd.Flags().Uint64Var(&cost, "cost", 1, "units asked for; 0 looks without consuming")
	return cmd
}

func attributes(args []string) (map[string]string, error) {
	attrs := make(map[string]string, len(args))
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("argument %q: write KEY=VALUE, such as api_key=sk_live_abc", arg)
		}
		if _, twice := attrs[name]; twice {
			return nil, fmt.Errorf("argument %q: %s is given twice", arg, name)
		}
		attrs[name] = value
	}
	return attrs, nil
}

func printCheck(w io.Writer, d *weirv1.CheckResponse) error {
	if d.Rule == "" {
		_, err := fmt.Fprintln(w, "allowed: no rule matches")
		return err
	}
	verdict := "allowed by " + d.Rule
	if !d.Allowed {
		verdict = fmt.Sprintf("denied by %s: %s%s", d.Rule, reasonText(d.Reason), retryText(d.RetryAfterUs))
	}
	if _, err := fmt.Fprintf(w, "%s (decided by %s)\n\n", verdict, enumText(d.DecidedBy.String(), "DECIDED_BY_")); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "RULE\tKIND\tKEY\tSAYS\tLIMIT\tBURST\tREMAINING\tRESET") // Flush reports
	for _, l := range d.Limits {
		says := "allow"
		if !l.Allowed {
			says = reasonText(l.Reason) + retryText(l.RetryAfterUs)
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%q\t%s\t%d\t%d\t%d\t%s\n", l.Rule, enumText(l.Kind.String(), "LIMIT_KIND_"), l.Key,
			says, l.Limit, l.Burst, l.Remaining, instant(l.ResetUnixSeconds))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(d.Receipt) > 0 {
		if _, err := fmt.Fprintf(w, "\nreceipt, for weir refund: %s\n", base64.StdEncoding.EncodeToString(d.Receipt)); err != nil {
			return err
		}
	}
	if missing := d.GetGlobal().GetMissingRegions(); len(missing) > 0 {
		_, err := fmt.Fprintf(w, "\nnot heard: %s; remaining is global as known here\n", strings.Join(missing, ", "))
		return err
	}
	return nil
}

func reasonText(r weirv1.Reason) string { return enumText(r.String(), "REASON_") }

func retryText(us int64) string {
	if us == 0 {
		return ""
	}
	return fmt.Sprintf(", retry after %v", time.Duration(us)*time.Microsecond)
}

// instant writes Unix seconds as a time, and 0 as unknown.
func instant(unixSeconds int64) string {
	if unixSeconds == 0 {
		return "-"
	}
	return time.Unix(unixSeconds, 0).UTC().Format(time.RFC3339)
}

// enumText turns LIMIT_KIND_BUCKET into bucket.
func enumText(name, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(name, prefix))
}
