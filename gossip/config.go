package gossip

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/hashicorp/memberlist"

	"weir/crdt"
)

// ErrConfig is wrapped by every error that says a Config breaks the rules.
var ErrConfig = errors.New("gossip configuration")

// label keeps strangers out: packets and streams without it are discarded.
const label = "weir"

// Config says how a node takes part. Node, Region, MaxRows and BindAddr are
// required.
type Config struct {
	// Node is this node's name, unique among all nodes.
	Node string
	// Region is this node's region; Regions, all that share quotas.
	Region  string
	Regions []string
	// Store is the kind of the region's store, "memory" or "redis": other nodes
	// read it.
	Store string
	// MaxRows bounds the quota rows held.
	MaxRows int
	// Diskless says that the node has no disk to make gifts durable on, see
	// MarkDurable: others are told so, and do not leave gifts to it.
	Diskless bool
	// Watch keeps what changed for TakeChanged, which is then to be called.
	Watch bool

	// BindAddr is an IP address; BindPort 0 takes a free one. The port is used
	// for TCP and UDP.
	BindAddr string
	BindPort int
	// AdvertiseAddr is the IP address others reach this node at, if not
	// BindAddr; AdvertisePort 0 is BindPort.
	AdvertiseAddr string
	AdvertisePort int

	// Keys encrypt all traffic; each has 16, 24 or 32 bytes. The first encrypts,
	// all decrypt. None leaves traffic in the clear.
	Keys [][]byte
	// Join are addresses of other nodes: host:port, or dns+srv://name for what
	// an SRV record lists. They are tried every second for as long as they are
	// not members.
	Join []string

	// Saved, if not nil, hands over the rows this node had saved, before it
	// listens: whoever asks it for its rows gets them too.
	Saved func(add func(*crdt.Row)) error

	// Splits, if not nil, are those this node had saved.
	Splits *crdt.Splits

	// Deliver, if not nil, gets what other regions Post to this one, one after
	// another; an error means that it is to come again.
	Deliver func(ctx context.Context, payload []byte) error

	// Logger is slog.Default() if nil.
	Logger *slog.Logger
	// Clock reads a monotonic clock, best one that runs through suspension; nil
	// is Go's, which does not.
	Clock func() time.Duration
	// Now is the time of day; nil is time.Now.
	Now func() time.Time

	// tune changes what memberlist is told, for tests that cannot wait.
	tune func(*memberlist.Config)
	// inboxFrames, if not 0, stands for the constant of that name.
	inboxFrames int
}

func (cfg *Config) withDefaults() Config {
	out := *cfg
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	if out.Clock == nil {
		start := time.Now()
		out.Clock = func() time.Duration { return time.Since(start) }
	}
	if out.Now == nil {
		out.Now = time.Now
	}
	if out.inboxFrames == 0 {
		out.inboxFrames = inboxFrames
	}
	return out
}

func (cfg *Config) validateNames() error {
	switch {
	case cfg.Node == "" || len(cfg.Node) > maxNodeBytes:
		return fmt.Errorf("%w: node: has %d bytes, must have 1 to %d", ErrConfig, len(cfg.Node), maxNodeBytes)
	case cfg.Region == "" || len(cfg.Region) > crdt.MaxRegionBytes:
		return fmt.Errorf("%w: region: has %d bytes, must have 1 to %d", ErrConfig, len(cfg.Region), crdt.MaxRegionBytes)
	case len(cfg.Regions) >= maxRegions:
		return fmt.Errorf("%w: regions: there are %d, may be %d", ErrConfig, len(cfg.Regions), maxRegions-1)
	}
	return nil
}

func (cfg *Config) validate() error {
	if err := cfg.validateNames(); err != nil {
		return err
	}
	switch {
	case cfg.MaxRows <= 0:
		return fmt.Errorf("%w: quota_rows: is %d, must be at least 1", ErrConfig, cfg.MaxRows)
	case net.ParseIP(cfg.BindAddr) == nil:
		return fmt.Errorf("%w: listen address %q: must be an IP address", ErrConfig, cfg.BindAddr)
	case cfg.BindPort < 0 || cfg.BindPort > 65535:
		return fmt.Errorf("%w: listen port %d: must be 0 to 65535", ErrConfig, cfg.BindPort)
	case cfg.AdvertiseAddr != "" && net.ParseIP(cfg.AdvertiseAddr) == nil:
		return fmt.Errorf("%w: advertised address %q: must be an IP address", ErrConfig, cfg.AdvertiseAddr)
	}
	for i, key := range cfg.Keys {
		if err := memberlist.ValidateKey(key); err != nil {
			return fmt.Errorf("%w: key %d has %d bytes, must have 16, 24 or 32", ErrConfig, i+1, len(key))
		}
	}
	for _, addr := range cfg.Join {
		if _, err := parseJoin(addr); err != nil {
			return err
		}
	}
	return nil
}

func (cfg *Config) core() *Core {
	return NewCore(CoreConfig{
		Node: cfg.Node, Region: cfg.Region, Regions: cfg.Regions, MaxRows: cfg.MaxRows, Watch: cfg.Watch, Diskless: cfg.Diskless,
		Rand:    rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		NowUnix: cfg.Now().Unix(),
	})
}

// memberlist is memberlist's LAN profile; these are the differences.
func (cfg *Config) memberlist(t *transport, logger *logWriter) (*memberlist.Config, error) {
	out := memberlist.DefaultLANConfig()
	out.Name = cfg.Node
	out.Transport = t
	out.Label = label
	out.BindAddr, out.BindPort = cfg.BindAddr, t.GetAutoBindPort()
	out.AdvertiseAddr, out.AdvertisePort = cfg.AdvertiseAddr, cfg.AdvertisePort
	if out.AdvertisePort == 0 {
		out.AdvertisePort = out.BindPort
	}
	// LAN: 10 s. A frame of 512 KiB crosses an ocean in less than a second;
	// whoever takes longer than this holds up one sender, and is told again.
	out.TCPTimeout = 3 * time.Second
	// LAN: on. It is LZW, slow, and frames hold few repeated bytes.
	out.EnableCompression = false
	// LAN: 0, which refuses a restarted node at a new address for ever. A node
	// that is declared dead has not answered for seconds; one more is enough
	// for those that still remember it alive to hear so.
	out.DeadNodeReclaimTime = time.Second
	out.Logger = logger.logger()
	if len(cfg.Keys) > 0 {
		ring, err := memberlist.NewKeyring(cfg.Keys, cfg.Keys[0])
		if err != nil {
			return nil, fmt.Errorf("%w: keys: %w", ErrConfig, err)
		}
		out.Keyring = ring
	}
	if cfg.tune != nil {
		cfg.tune(out)
	}
	return out, nil
}

// meta is what a node tells of itself in the membership protocol.
type meta struct {
	Region string `json:"region"`
	Store  string `json:"store"`
	// Diskless nodes give nothing.
	Diskless bool `json:"diskless,omitempty"`
}

func (cfg *Config) meta() ([]byte, error) {
	b, err := json.Marshal(meta{cfg.Region, cfg.Store, cfg.Diskless})
	if err != nil {
		return nil, fmt.Errorf("%w: region: %w", ErrConfig, err)
	}
	if len(b) > memberlist.MetaMaxSize {
		return nil, fmt.Errorf("%w: region and store take %d bytes, may take %d", ErrConfig, len(b), memberlist.MetaMaxSize)
	}
	return b, nil
}

func readMeta(b []byte) (meta, error) {
	var m meta
	if err := json.Unmarshal(b, &m); err != nil {
		return meta{}, fmt.Errorf("member's meta data: %w", err)
	}
	if m.Region == "" || len(m.Region) > crdt.MaxRegionBytes {
		return meta{}, fmt.Errorf("member's meta data: region has %d bytes, must have 1 to %d", len(m.Region), crdt.MaxRegionBytes)
	}
	return m, nil
}

func hostPort(n *memberlist.Node) string {
	return net.JoinHostPort(n.Addr.String(), strconv.Itoa(int(n.Port)))
}
