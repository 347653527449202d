package main

import (
	"strings"
	"testing"

	weirv1 "weir/proto/weir/v1"
)

func TestAQuotaIsShownByRegion(t *testing.T) {
	q := &weirv1.Quota{Rule: "daily", Key: "a", Limit: 1000, Used: 750, Remaining: 250, Overshoot: 10, Exposure: 8,
		PeriodStartUnixSeconds: 8640000, PeriodEndUnixSeconds: 8726400, TimeZone: "UTC", Generation: 1,
		ByRegion: []*weirv1.RegionUse{
			{Region: "eu", Taken: 700, GivenBack: 50, Share: 505, Rights: 165, Granted: 10, Unmet: 30,
				ReceivedFrom: []*weirv1.Transfer{{Region: "us", Units: 300}}},
			{Region: "us", Taken: 100, Share: 505, Rights: 105,
				GivenTo: []*weirv1.Transfer{{Region: "eu", Units: 300}, {Region: "ap", Units: 2}}},
		}}
	regions := []*weirv1.RegionState{{Region: "eu", Here: true}, {Region: "us", StalenessMs: 12_500, Touch: weirv1.Touch_TOUCH_CUT_OFF}}
	shown(t, q, regions, `
daily "a"
  used       750 of 1000
  remaining  250
  exposure   8, overshoot 10
  period     1970-04-11T00:00:00Z to 1970-04-12T00:00:00Z (UTC)
  resets     1 in this period

REGION  TAKEN  GIVEN BACK  SHARE  GRANTED  RECEIVED FROM  GIVEN TO      RIGHTS  UNMET  HEARD
eu      700    50          505    10       us 300         -             165     30     here
us      100    0           505    0        -              eu 300, ap 2  105     0      12.5s ago, cut off
`)
	q.OvershootUnbounded, q.Generation, regions[1].StalenessMs = true, 0, -1
	shown(t, q, regions, `
daily "a"
  used       750 of 1000
  remaining  250
  exposure   8, not bounded
  period     1970-04-11T00:00:00Z to 1970-04-12T00:00:00Z (UTC)

REGION  TAKEN  GIVEN BACK  HEARD
eu      700    50          here
us      100    0           never, cut off
`)
}

func shown(t *testing.T, q *weirv1.Quota, regions []*weirv1.RegionState, want string) {
	t.Helper()
	var got strings.Builder
	if err := printQuota(&got, q, regions); err != nil || got.String() != want[1:] {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got.String(), want[1:])
	}
}

func TestARefundIsTold(t *testing.T) {
	for _, in := range []struct {
		out  *weirv1.RefundResponse
		want string
	}{
		{&weirv1.RefundResponse{State: weirv1.RefundState_REFUND_STATE_FORWARDED, Region: "us"},
			"passed on to us, which charged; it is refunded there once that region is in touch\n"},
		{&weirv1.RefundResponse{State: weirv1.RefundState_REFUND_STATE_REFUNDED, Quotas: []*weirv1.RefundedQuota{
			{Rule: "daily", Key: "a", Units: 4, State: weirv1.RefundState_REFUND_STATE_REFUNDED},
			{Rule: "monthly", Key: "a", State: weirv1.RefundState_REFUND_STATE_ENDED}}},
			"RULE     KEY  GIVEN BACK  SAYS\n" +
				"daily    \"a\"  4           refunded\n" +
				"monthly  \"a\"  0           too late: its period is over, or the quota or its store began anew\n"},
	} {
		var got strings.Builder
		if err := printRefund(&got, in.out); err != nil || got.String() != in.want {
			t.Errorf("%v, got\n%s\nwant\n%s", err, got.String(), in.want)
		}
	}
}

func TestBadReceiptArguments(t *testing.T) {
	for receipt, units := range map[string]uint64{"": 1, "not base64!": 1, "AAAA": 0} {
		if in, err := refundRequest(receipt, units, true); err == nil {
			t.Errorf("%q of %d units: got %v", receipt, units, in)
		}
	}
	if in, err := refundRequest(" AAAA\n", 0, false); err != nil || in.Units != nil {
		t.Errorf("got %v, %v", in, err)
	}
}

// TestYAML keeps whole numbers whole and the order of the fields.
func TestYAML(t *testing.T) {
	var got strings.Builder
	f := nodeFlags{output: "yaml"}
	if err := f.print(&got, &weirv1.Quota{Rule: "daily", Generation: 3}, nil); err != nil {
		t.Fatal(err)
	}
	if text := got.String(); !strings.HasPrefix(text, "rule: daily\n") || !strings.Contains(text, "generation: 3\n") {
		t.Errorf("got %s", text)
	}
}
