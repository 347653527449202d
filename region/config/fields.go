package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/limiter/document"
)

// field is one field of weir.yaml.
type field struct {
	path  string // listen.grpc
	form  form
	kind  string // for people: what is written
	def   string // as written; empty: none
	shown string // the default in words, where it is not written
	doc   string
	// shows is the value as it may be shown, nil when that is as it is.
	shows func(string) string

	// set parses and keeps a value, or says what is wrong with an item; get is
	// the reverse, in the form of set's items.
	set func(*Config, []item)
	get func(*Config) []item
}

// boolKind is the kind of fields whose flag needs no value.
const boolKind = "true or false"

type form int

const (
	single form = iota
	list
	mapping
)

// item is one written value: of a single value, a list or a mapping. Fail says
// what is wrong with it, at its own place.
type item struct {
	name  string // the key, in a mapping
	text  string
	shown string // the text as it may be shown
	fail  func(reason string)
}

func (i item) wrong(err error) { i.fail(fmt.Sprintf("%s: %v", document.Quote(i.shown), err)) }

// item makes an item of the field.
func (f *field) item(name, text string, fail func(reason string)) item {
	i := item{name: name, text: text, shown: text, fail: fail}
	if f.shows != nil {
		i.shown = f.shows(text)
	}
	return i
}

// env is the variable: WEIR_LISTEN_GRPC.
func (f *field) env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(f.path, ".", "_"))
}

// flag is the flag's name: listen-grpc.
func (f *field) flag() string {
	return strings.NewReplacer(".", "-", "_", "-").Replace(f.path)
}

func (f *field) defaults() []string {
	if f.def == "" {
		return nil
	}
	return []string{f.def}
}

// fields is the table. Its order is that of the reference and of what is shown.
var fields = []field{
	text("region", "name", "", "required", "The region this node is in: letters a to z, digits and `-` `.` `_`, at most 63.",
		func(c *Config) *string { return &c.Region }, checkName),
	text("node", "name", "", "the host name", "This node's name, unique among all nodes of all regions; as `region`.",
		func(c *Config) *string { return &c.Node }, checkName),
	{path: "regions", form: mapping, kind: "name: weight", shown: "this region alone, weight 1",
		doc: "Every region that shares global quotas, this one included, with its weight in the first split: used only where no snapshot, peer or store knows a split. At most 63 regions, weights 1 to 1000000.",
		set: setRegions, get: getRegions},
	text("listen.grpc", "host:port", "127.0.0.1:7420", "", "Where gRPC is served. Port 0 takes a free one.",
		func(c *Config) *string { return &c.Listen.GRPC }, checkListen),
	text("listen.http", "host:port", "127.0.0.1:7421", "", "Where HTTP is served: health, metrics, dashboard.",
		func(c *Config) *string { return &c.Listen.HTTP }, checkListen),
	text("listen.gossip", "ip:port", "127.0.0.1:7422", "", "Where gossip is heard, TCP and UDP. The host is an IP address, localhost or empty.",
		func(c *Config) *string { return &c.Listen.Gossip }, checkListenIP),
	secret(text("store", "URL", MemoryStore, "", "Where the region's state is: `memory` for a region of one node, or `redis://[USER:PASSWORD@]HOST:PORT/DB`, `rediss://…` (TLS), `unix://[USER:PASSWORD@]/PATH?db=DB`.",
		func(c *Config) *string { return &c.Store }, checkStore), redacted),
	{path: "gossip.join", form: list, kind: "list of host:port", shown: "none",
		doc: "Nodes to join, or `dns+srv://NAME` for what an SRV record lists. At most 256. They are tried until they answer.",
		set: setJoin, get: getJoin},
	text("gossip.keyring_file", "path", "", "none: in the clear", "Keys that encrypt gossip: one base64 key of 16, 24 or 32 bytes a line, the first is primary.",
		func(c *Config) *string { return &c.Gossip.KeyringFile }, checkPath),
	text("gossip.advertise", "ip:port", "", "the address listened at", "Where other nodes reach this node's gossip, behind address translation.",
		func(c *Config) *string { return &c.Gossip.Advertise }, checkAdvertise),
	text("rules", "path", "", "required", "The rules file: see rules.md.",
		func(c *Config) *string { return &c.Rules }, checkPath),
	text("snapshot", "path", "", "none: state is not kept", "The file that keeps global quotas over a restart.",
		func(c *Config) *string { return &c.Snapshot }, checkPath),
	{path: "snapshot_interval", kind: "duration", def: "1s", doc: "How often changed rows are written to the snapshot: 100ms to 1h.",
		set: setInterval, get: func(c *Config) []item { return one(durationText(c.SnapshotInterval)) }},
	count("limits.keys", "1000000", "Most buckets the embedded store holds; past it, new keys pass uncounted.",
		func(c *Config) *int { return &c.Limits.Keys }),
	count("limits.quota_rows", "10000000", "Most quota keys and periods held; past it, new keys are denied.",
		func(c *Config) *int { return &c.Limits.QuotaRows }),
	count("limits.concurrent_checks", "10000", "Most checks decided at a time; more are refused with RESOURCE_EXHAUSTED.",
		func(c *Config) *int { return &c.Limits.ConcurrentChecks }),
	{path: "insecure", kind: boolKind, def: "false", doc: "Allow listening beyond loopback without TLS or tokens.",
		set: func(c *Config, in []item) { parse(in[0], &c.Insecure, document.ParseBool) },
		get: func(c *Config) []item { return one(strconv.FormatBool(c.Insecure)) }},
}

// later are the fields that Weir knows of and this version does not read.
var later = []string{"tls", "access", "gateway", "telemetry", "reserve", "redis", "webhook_secret_file", "hash_keys"}

func one(text string) []item {
	if text == "" {
		return nil
	}
	return []item{{text: text}}
}

// parse keeps an item's value, or says what is wrong with it.
func parse[T any](in item, to *T, read func(string) (T, error)) {
	value, err := read(in.text)
	if err != nil {
		in.wrong(err)
		return
	}
	*to = value
}

func text(path, kind, def, shown, doc string, at func(*Config) *string, check func(string) error) field {
	return field{path: path, kind: kind, def: def, shown: shown, doc: doc,
		set: func(c *Config, in []item) {
			if err := check(in[0].text); err != nil {
				in[0].wrong(err)
				return
			}
			*at(c) = in[0].text
		},
		get: func(c *Config) []item { return one(*at(c)) },
	}
}

// secret is a field whose value is shown in another form.
func secret(f field, shows func(string) string) field {
	f.shows = shows
	return f
}

// maxCount is the most that any bound may be set to.
const maxCount = 1_000_000_000

func count(path, def, doc string, at func(*Config) *int) field {
	return field{path: path, kind: "1 to 1e9", def: def, doc: doc,
		set: func(c *Config, in []item) {
			parse(in[0], at(c), func(s string) (int, error) { return within(s, 1, maxCount) })
		},
		get: func(c *Config) []item { return one(strconv.Itoa(*at(c))) },
	}
}

func within(s string, least, most int) (int, error) {
	n, err := document.ParseInt(s)
	if err != nil {
		return 0, err
	}
	if n < int64(least) || n > int64(most) {
		return 0, fmt.Errorf("must be %d to %d", least, most)
	}
	return int(n), nil
}

func setInterval(c *Config, in []item) {
	parse(in[0], &c.SnapshotInterval, func(s string) (time.Duration, error) {
		d, err := document.ParseDuration(s)
		if err == nil && (d < 100*time.Millisecond || d > time.Hour) {
			err = fmt.Errorf("must be 100ms to 1h")
		}
		return d, err
	})
}

// durationText writes a duration as ParseDuration reads it.
func durationText(d time.Duration) string {
	for i := len(document.Units) - 1; i >= 0; i-- {
		if u := document.Units[i]; d >= u.Length && d%u.Length == 0 {
			return fmt.Sprintf("%d%s", d/u.Length, u.Name)
		}
	}
	return d.String()
}
