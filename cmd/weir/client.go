package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"weir/region/config"
)

// nodeFlags are what every command that calls a node takes.
type nodeFlags struct {
	addr    string
	output  string
	timeout time.Duration
}

func (f *nodeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.addr, "addr", config.EnvDefault("WEIR_ADDR", "127.0.0.1:7420"), "the node's gRPC address (WEIR_ADDR)")
	cmd.Flags().StringVarP(&f.output, "output", "o", "table", "table, json or yaml")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 5*time.Second, "how long to wait for the answer")
}

// dial returns a connection that the caller closes, and a context bounded by
// --timeout.
func (f *nodeFlags) dial(ctx context.Context) (*grpc.ClientConn, context.Context, context.CancelFunc, error) {
	switch f.output {
	case "table", "json", "yaml":
	default:
		return nil, nil, nil, usageError{fmt.Errorf("--output %q: write table, json or yaml", f.output)}
	}
	conn, err := grpc.NewClient(f.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, nil, usageError{fmt.Errorf("--addr %q: %w", f.addr, err)}
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	return conn, ctx, cancel, nil
}

// callError says which node failed, in its own words.
func (f *nodeFlags) callError(err error) error {
	s := status.Convert(err)
	return fmt.Errorf("node %s: %s (%s)", f.addr, s.Message(), s.Code())
}

// print writes a message in the form asked for; table writes the human form.
func (f *nodeFlags) print(w io.Writer, m proto.Message, table func(io.Writer) error) error {
	if f.output == "table" {
		return table(w)
	}
	body, err := protojson.MarshalOptions{EmitUnpopulated: true, Multiline: true}.Marshal(m)
	if err != nil {
		return err
	}
	if f.output == "json" {
		_, err = fmt.Fprintf(w, "%s\n", body)
		return err
	}
	if body, err = yaml.JSONToYAML(body); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}
