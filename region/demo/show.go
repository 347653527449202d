package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	weirv1 "weir/proto/weir/v1"
	"weir/region"
)

// perSecond is the traffic of each region, in checks a second.
var perSecond = [len(regionNames)]int{120, 240, 60}

const reportInterval = 5 * time.Second

// show prints what a person can try, sends traffic and reports, until the
// context ends.
func show(ctx context.Context, opts Options, nodes []*region.Node, began time.Time) error {
	var conns [len(regionNames)]*grpc.ClientConn
	defer func() {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close() // its node is about to stop
			}
		}
	}()
	var clients []weirv1.QuotaServiceClient
	var loads []*traffic
	for i, n := range nodes {
		conn, err := grpc.NewClient(n.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		conns[i] = conn
		clients = append(clients, weirv1.NewQuotaServiceClient(conn))
		loads = append(loads, &traffic{
			client: weirv1.NewLimiterServiceClient(conn), home: i, perSecond: perSecond[i],
			random: rand.New(rand.NewPCG(uint64(i), 0)), // the same load every time
		})
	}
	welcome(opts, nodes, time.Since(began))
	var running sync.WaitGroup
	defer running.Wait()
	if opts.Traffic {
		for _, t := range loads {
			running.Go(func() { t.run(ctx) })
		}
	}
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			_, err := fmt.Fprintln(opts.Out, "stopping")
			return err
		case <-tick.C:
			report(ctx, opts, clients, loads)
		}
	}
}

func welcome(opts Options, nodes []*region.Node, took time.Duration) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(opts.Out, format+"\n", args...) } // a person's terminal
	say("weir %s: three regions on this machine, ready in %.1f s", opts.Version, took.Seconds())
	say("")
	for i, n := range nodes {
		say("  %-9s gRPC %s   dashboard http://%s/", regionNames[i], n.GRPCAddr(), n.HTTPAddr())
	}
	say("")
	say("Try, in another terminal:")
	say("  curl -s http://%s/v1/check -d '{\"attributes\":{\"api_key\":\"sk_demo_00\",\"method\":\"POST\",\"path\":\"/v1/charges\"}}'", nodes[0].HTTPAddr())
	say("  go run ./cmd/weir check --addr %s api_key=sk_demo_00 method=POST path=/v1/charges", nodes[1].GRPCAddr())
	say("  go run ./cmd/weir quota list --addr %s", nodes[2].GRPCAddr())
	say("")
	say("Ctrl-C stops it.")
}

// report prints one line: what was asked, and whether the regions tell the
// same of the busiest quota.
func report(ctx context.Context, opts Options, clients []weirv1.QuotaServiceClient, loads []*traffic) {
	var allowed, denied, failed int64
	for _, t := range loads {
		allowed, denied, failed = allowed+t.allowed.Load(), denied+t.denied.Load(), failed+t.failed.Load()
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	line := fmt.Sprintf("%s  allowed %d  denied %d  failed %d", time.Now().Format("15:04:05"), allowed, denied, failed)
	if busiest := busiestQuota(ctx, clients[0]); busiest != nil {
		line += fmt.Sprintf("   %s %s used, as seen from", busiest.Rule, busiest.Key)
		for i, c := range clients {
			out, err := c.GetQuota(ctx, &weirv1.GetQuotaRequest{Rule: busiest.Rule, Key: busiest.Key})
			if err != nil {
				line += fmt.Sprintf("  %s ?", regionNames[i])
				continue
			}
			line += fmt.Sprintf("  %s %d", regionNames[i], out.Quota.Used)
		}
	}
	_, _ = fmt.Fprintln(opts.Out, line) // a person's terminal
}

func busiestQuota(ctx context.Context, client weirv1.QuotaServiceClient) *weirv1.Quota {
	out, err := client.ListQuotas(ctx, &weirv1.ListQuotasRequest{Order: weirv1.QuotaOrder_QUOTA_ORDER_USED, PageSize: 1})
	if err != nil || len(out.Quotas) == 0 {
		return nil
	}
	return out.Quotas[0]
}
