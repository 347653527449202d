package api

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weir/limiter"
	"weir/limiter/store"
	weirv1 "weir/proto/weir/v1"
)

// Refunder gives back what checks charged; *limiter.Refunds does.
type Refunder interface {
	// Refund gives back what a receipt names, up to so many units of each quota;
	// 0 is the whole cost.
	Refund(ctx context.Context, receipt []byte, units int64) (limiter.Refund, error)
	// GiveBack gives units back to every refundable quota that a request meets,
	// without a receipt.
	GiveBack(ctx context.Context, req *limiter.Request) (units int64, err error)
}

// Refund implements weir.v1.LimiterService.
func (l *Limiter) Refund(ctx context.Context, in *weirv1.RefundRequest) (*weirv1.RefundResponse, error) {
	units, err := refundUnits(in)
	if err != nil {
		return nil, err
	}
	if err := l.gate.Enter(1); err != nil {
		return nil, err
	}
	defer l.gate.Leave(1)
	got, err := l.refunder.Refund(ctx, in.Receipt, units)
	if err != nil {
		return nil, refundError(err)
	}
	out := &weirv1.RefundResponse{State: refundState(got.State), Region: got.Region}
	for _, q := range got.Quotas {
		out.Quotas = append(out.Quotas, &weirv1.RefundedQuota{Rule: q.Rule, Key: q.Key, Units: q.Units, State: refundState(q.State)})
	}
	return out, nil
}

func refundUnits(in *weirv1.RefundRequest) (int64, error) {
	switch {
	case len(in.Receipt) == 0:
		return 0, status.Error(codes.InvalidArgument, "receipt: empty; send the one that the check's answer held")
	case in.Units == nil:
		return 0, nil
	case *in.Units == 0:
		return 0, status.Error(codes.InvalidArgument, "units: 0; must be at least 1, or unset for the check's whole cost")
	}
	return int64(min(*in.Units, limiter.MaxCost)), nil
}

func refundError(err error) error {
	switch {
	case errors.Is(err, limiter.ErrReceipt):
		return status.Errorf(codes.InvalidArgument, "receipt: %v", err)
	case errors.Is(err, limiter.ErrElsewhere):
		return status.Errorf(codes.FailedPrecondition, "receipt: %v", err)
	case errors.Is(err, limiter.ErrForward):
		return status.Errorf(codes.ResourceExhausted, "receipt: %v", err)
	case errors.Is(err, store.ErrUnavailable):
		return status.Errorf(codes.Unavailable, "%v; send the receipt again: it is refunded once", err)
	}
	return status.FromContextError(err).Err()
}

// The states stand in the same order in the engine and the API.
func refundState(s limiter.RefundState) weirv1.RefundState { return weirv1.RefundState(s) }
