package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	weirv1 "weir/proto/weir/v1"
)

// printQuota shows one quota and what each region has of it.
func printQuota(w io.Writer, q *weirv1.Quota, regions []*weirv1.RegionState) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "  %s\t%s\n", name, fmt.Sprintf(format, args...)) // Flush reports
	}
	_, _ = fmt.Fprintf(t, "%s %q\n", q.Rule, q.Key)
	line("used", "%d of %d", q.Used, q.Limit)
	line("remaining", "%d", q.Remaining)
	line("exposure", "%s", exposureText(q))
	line("period", "%s to %s (%s)", instant(q.PeriodStartUnixSeconds), instant(q.PeriodEndUnixSeconds), q.TimeZone)
	if q.Generation > 0 {
		line("resets", "%d in this period", q.Generation)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return printRegions(w, q, regions)
}

// exposureText says by how much the limit can be passed, of what is allowed.
func exposureText(q *weirv1.Quota) string {
	if q.OvershootUnbounded {
		return fmt.Sprintf("%d, not bounded", q.Exposure)
	}
	return fmt.Sprintf("%d, overshoot %d", q.Exposure, q.Overshoot)
}

func printRegions(w io.Writer, q *weirv1.Quota, regions []*weirv1.RegionState) error {
	heard := make(map[string]string, len(regions))
	for _, r := range regions {
		heard[r.Region] = heardText(r)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	rights := "\tSHARE\tGRANTED\tRECEIVED FROM\tGIVEN TO\tRIGHTS\tUNMET"
	if q.OvershootUnbounded {
		rights = ""
	}
	_, _ = fmt.Fprintf(t, "REGION\tTAKEN\tGIVEN BACK%s\tHEARD\n", rights) // Flush reports
	for _, u := range q.ByRegion {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%d", u.Region, u.Taken, u.GivenBack)
		if !q.OvershootUnbounded {
			_, _ = fmt.Fprintf(t, "\t%d\t%d\t%s\t%s\t%d\t%d", u.Share, u.Granted, transfersText(u.ReceivedFrom), transfersText(u.GivenTo), u.Rights, u.Unmet)
		}
		_, _ = fmt.Fprintf(t, "\t%s\n", heard[u.Region])
	}
	return t.Flush()
}

func transfersText(transfers []*weirv1.Transfer) string {
	parts := make([]string, len(transfers))
	for i, t := range transfers {
		parts[i] = fmt.Sprintf("%s %d", t.Region, t.Units)
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

func heardText(r *weirv1.RegionState) string {
	age := fmt.Sprintf("%v ago", time.Duration(r.StalenessMs)*time.Millisecond)
	switch {
	case r.Here:
		return "here"
	case r.StalenessMs < 0:
		return "never, cut off"
	case r.Touch == weirv1.Touch_TOUCH_BEHIND:
		return age + ", behind"
	case r.Touch == weirv1.Touch_TOUCH_CUT_OFF:
		return age + ", cut off"
	}
	return age
}
