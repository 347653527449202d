package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"weir/limiter/document/golden"
)

const worked = `
region: eu-west
node: eu-west-1
regions:
  eu-west: 1
  us-east: 2
  ap-south: 1
listen: {grpc: :7420, http: :7421, gossip: :7422}
store: redis://weir:s3cr3t@redis:6379/0
gossip:
  join: [us-east-1:7422, dns+srv://_gossip._tcp.weir.ap.example]
  keyring_file: /run/secrets/gossip-keys
  advertise: 192.0.2.7:7422
rules: /etc/weir/rules.yaml
snapshot: /var/lib/weir/state.db
snapshot_interval: 500ms
limits: {keys: 2e6, quota_rows: 10000000, concurrent_checks: 5000}
insecure: true
`

// settings is a configuration without where it came from.
func settings(c *Config) Config {
	out := *c
	out.origins = nil
	return out
}

func TestFile(t *testing.T) {
	cfg, err := load(t, nil, nil, worked)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Region: "eu-west", Node: "eu-west-1",
		Regions: []Region{{"eu-west", 1}, {"us-east", 2}, {"ap-south", 1}},
		Listen:  Listen{":7420", ":7421", ":7422"},
		Store:   "redis://weir:s3cr3t@redis:6379/0",
		Gossip: Gossip{Join: []string{"us-east-1:7422", "dns+srv://_gossip._tcp.weir.ap.example"},
			KeyringFile: "/run/secrets/gossip-keys", Advertise: "192.0.2.7:7422"},
		Rules: "/etc/weir/rules.yaml", Snapshot: "/var/lib/weir/state.db", SnapshotInterval: 500 * time.Millisecond,
		Limits: Limits{2_000_000, 10_000_000, 5000}, Insecure: true,
	}
	if got := settings(cfg); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if cfg.StoreKind() != "redis" || !reflect.DeepEqual(cfg.RegionNames(), []string{"eu-west", "us-east", "ap-south"}) {
		t.Error(cfg.StoreKind(), cfg.RegionNames())
	}
}

func TestDefaults(t *testing.T) {
	cfg, err := load(t, nil, []string{"WEIR_REGION=eu", "WEIR_RULES=r.yaml"}, "")
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Region: "eu", Node: "host-1", Regions: []Region{{"eu", 1}},
		Listen: Listen{"127.0.0.1:7420", "127.0.0.1:7421", "127.0.0.1:7422"},
		Store:  "memory", Rules: "r.yaml", SnapshotInterval: time.Second,
		Limits: Limits{1_000_000, 10_000_000, 10_000},
	}
	if got := settings(cfg); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if cfg.StoreKind() != "memory" {
		t.Error(cfg.StoreKind())
	}
}

// right has three right values for every field.
var right = map[string][3]string{
	"region": {"eu", "us", "ap"}, "node": {"a", "b", "c"}, "regions": {"eu=1,us=1,ap=1", "eu=2,us=2,ap=2", "ap=3,us=3,eu=3"},
	"listen.grpc": {"127.0.0.1:1", "[::1]:2", "localhost:3"}, "listen.http": {"127.0.0.1:0", "127.9.9.9:21", "[::ffff:127.0.0.1]:23"},
	"listen.gossip": {"127.0.0.1:11", "[::1]:12", "localhost:13"},
	"store":         {"memory", "redis://h:6379/1", "unix:///run/redis.sock?db=2"},
	"gossip.join":   {"a:1", "a:1,b:2", "dns+srv://c.example"}, "gossip.keyring_file": {"a", "b", "c"}, "gossip.advertise": {"1.2.3.4:1", "[2001:db8::1]:2", "1.2.3.4:3"},
	"rules": {"a", "b", "c"}, "snapshot": {"s1", "s2", "s3"}, "snapshot_interval": {"100ms", "2s", "1h"},
	"limits.keys": {"1", "2", "1000000000"}, "limits.quota_rows": {"1", "2", "3"}, "limits.concurrent_checks": {"1", "2", "3"},
	"insecure": {"true", "false", "true"},
}

// Of every field, the flag goes before the variable, that before the file, and
// that before the default; where the value came from is told.
func TestPrecedence(t *testing.T) {
	for i := range fields {
		f := &fields[i]
		values, ok := right[f.path]
		if !ok {
			t.Errorf("%s: write right values", f.path)
			continue
		}
		base := without([]string{"WEIR_REGION=eu", "WEIR_RULES=rules.yaml", "WEIR_REGIONS=eu=1,us=1,ap=1"}, f.env())
		var file string
		if f.form == list {
			file = strings.Replace(inFile(f, values[0]), `"`+values[0]+`"`, "["+values[0]+"]", 1)
		} else {
			file = inFile(f, values[0])
		}
		variable := append([]string{f.env() + "=" + values[1]}, base...)
		for _, c := range []struct {
			from           string
			flags, environ []string
			want           string
		}{
			{"weir.yaml:", nil, base, values[0]},
			{f.env(), nil, variable, values[1]},
			{"--" + f.flag(), []string{"--" + f.flag() + "=" + values[2]}, variable, values[2]},
		} {
			cfg, err := load(t, c.flags, c.environ, file)
			if err != nil {
				t.Errorf("%s: %v", f.path, err)
				continue
			}
			if got := written(f, cfg); got != c.want {
				t.Errorf("%s from %s: %q, want %q", f.path, c.from, got, c.want)
			}
			if from := cfg.origins[f.path].String(); !strings.HasPrefix(from, c.from) {
				t.Errorf("%s: from %q, want %q", f.path, from, c.from)
			}
		}
	}
}

// written is a field's value as a variable would have it.
func written(f *field, c *Config) string {
	var parts []string
	for _, i := range f.get(c) {
		if f.form == mapping {
			i.text = i.name + "=" + i.text
		}
		parts = append(parts, i.text)
	}
	return strings.Join(parts, ",")
}

func TestFlagForms(t *testing.T) {
	environ := []string{"WEIR_REGION=eu", "WEIR_RULES=r.yaml"}
	cfg, err := load(t, []string{"--insecure", "--gossip-join", "a:1", "--gossip-join", "b:1, c:1", "--node", "x", "--node", "y"}, environ, "")
	if err != nil {
		t.Fatal(err)
	}
	if !cfg.Insecure || cfg.Node != "y" || !reflect.DeepEqual(cfg.Gossip.Join, []string{"a:1", "b:1", "c:1"}) {
		t.Errorf("%+v", cfg)
	}
	set := pflag.NewFlagSet("weir serve", pflag.ContinueOnError)
	AddFlags(set)
	if usage := set.FlagUsages(); !strings.Contains(usage, "--listen-grpc host:port") || strings.Contains(usage, "`") {
		t.Error(usage)
	}
}

// Variables that nobody wrote for the configuration do not stop a node.
func TestOthersVariables(t *testing.T) {
	environ := []string{"WEIR_REGION=eu", "WEIR_RULES=r.yaml", "WEIR_STORE=", "PATH=/bin", "HOME", "WEIR_ADDR=a", "WEIR_CONFIG=c",
		"WEIR_SERVICE_HOST=10.0.0.1", "WEIR_SERVICE_PORT=7420", "WEIR_SERVICE_PORT_GRPC=7420", "WEIR_PORT=tcp://10.0.0.1:7420",
		"WEIR_PORT_7420_TCP=tcp://10.0.0.1:7420", "WEIR_PORT_7420_TCP_PROTO=tcp", "WEIR_PORT_7420_TCP_PORT=7420",
		"WEIR_PORT_7420_TCP_ADDR=10.0.0.1", "WEIR_GOSSIP_SERVICE_HOST=10.0.0.1", "WEIR_GOSSIP_PORT_7422_UDP=udp://10.0.0.1:7422"}
	if cfg, err := load(t, nil, environ, ""); err != nil || cfg.Store != MemoryStore {
		t.Error(cfg, err)
	}
}

func TestHostNameThatIsNoName(t *testing.T) {
	before := hostName
	defer func() { hostName = before }()
	environ := []string{"WEIR_REGION=eu", "WEIR_RULES=r.yaml"}
	hostName = func() (string, error) { return "My-Host.Example", nil }
	if cfg, err := load(t, nil, environ, ""); err != nil || cfg.Node != "my-host.example" {
		t.Error(cfg, err)
	}
	for name, host := range map[string]func() (string, error){
		"ä":  func() (string, error) { return "ä", nil },
		"no": func() (string, error) { return "", errors.New("no name") },
	} {
		hostName = host
		_, err := load(t, nil, environ, "")
		if err == nil || !strings.HasPrefix(err.Error(), "node: the host name ") {
			t.Errorf("%s: %v", name, err)
		}
		if cfg, err := load(t, []string{"--node=a"}, environ, ""); err != nil || cfg.Node != "a" {
			t.Error(cfg, err)
		}
	}
}

func TestGuardedGossipIsNotInsecure(t *testing.T) {
	if _, err := load(t, nil, nil, "region: eu\nrules: r\nlisten: {gossip: :7422}\ngossip: {keyring_file: keys}\n"); err != nil {
		t.Error(err)
	}
}

func TestPrint(t *testing.T) {
	cfg, err := load(t, []string{"--limits-keys=7"}, []string{"WEIR_NODE=n"}, worked)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := cfg.Print(&b); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/print.txt", b.String())
	if strings.Contains(b.String(), "s3cr3t") {
		t.Error("the password is shown")
	}
}

// What is printed is a weir.yaml that says the same.
func TestPrintIsReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		environ := []string{"WEIR_REGION=eu", "WEIR_RULES=r.yaml", "WEIR_REGIONS=ap=3,us=3,eu=3"}
		for i := range fields {
			f := &fields[i]
			if n := rapid.IntRange(-1, 2).Draw(rt, f.path); n >= 0 {
				environ = append(without(environ, f.env()), f.env()+"="+right[f.path][n])
			}
		}
		snapshots := right["snapshot"]
		if name := rapid.String().Draw(rt, "rules"); name != "" && !strings.Contains(name, "://") && checkPath(name) == nil && !slices.Contains(snapshots[:], filepath.Clean(name)) {
			environ = append(without(environ, "WEIR_RULES"), "WEIR_RULES="+name)
		}
		cfg, err := load(t, nil, environ, "")
		if err != nil {
			rt.Fatal(err)
		}
		var b strings.Builder
		if err := cfg.Print(&b); err != nil {
			rt.Fatal(err)
		}
		again, err := load(t, nil, nil, b.String())
		if err != nil {
			rt.Fatalf("%v\n%s", err, b.String())
		}
		if !reflect.DeepEqual(settings(cfg), settings(again)) {
			rt.Fatalf("printed\n%sread %+v", b.String(), again)
		}
	})
}

func TestStorePasswordIsNeverShown(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		password := "SECRET" + rapid.StringOf(rapid.SampledFrom([]rune("/?#@:%a1 &="))).Draw(rt, "password") + "SECRET"
		store := rapid.SampledFrom([]string{"redis://:", "redis://user:", "rediss://user:", "user:", "redis+sentinel://u:", "x://u:"}).Draw(rt, "before") +
			password + rapid.SampledFrom([]string{"@host:6379/0", "@host", "@host/x", "@"}).Draw(rt, "after")
		cfg, err := load(t, nil, []string{"WEIR_REGION=eu", "WEIR_RULES=r.yaml", "WEIR_STORE=" + store}, "")
		var shown string
		if err != nil {
			shown = err.Error()
		} else {
			var b strings.Builder
			if err := cfg.Print(&b); err != nil {
				rt.Fatal(err)
			}
			shown = b.String()
		}
		if strings.Contains(shown, "SECRET") {
			rt.Fatalf("%s is shown: %s", store, shown)
		}
	})
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.yaml")
	if _, err := LoadFile(nil, nil, path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte(worked), 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg, err := LoadFile(nil, nil, path); err != nil || cfg.Region != "eu-west" {
		t.Error(cfg, err)
	}
	if err := os.WriteFile(path, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadFile(nil, nil, path); err == nil || !strings.HasSuffix(err.Error(), "is over 1048576 bytes, the most a file may have") {
		t.Error(err)
	}
	if _, err := ReadFile(t.TempDir()); err == nil {
		t.Error("a directory was read")
	}
}

// The reference lists every field as it is, and its example is right.
func TestReference(t *testing.T) {
	const path = "../../docs/config.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), "<!-- fields: written by the tests of region/config -->\n")
	_, after, ok2 := strings.Cut(rest, "<!-- end of fields -->")
	if !ok || !ok2 {
		t.Fatal("the table's marks are missing")
	}
	golden.File(t, path, before+"<!-- fields: written by the tests of region/config -->\n"+Reference()+"<!-- end of fields -->"+after)
	for i, block := range strings.Split(string(data), "```yaml\n")[1:] {
		example, _, _ := strings.Cut(block, "```")
		if _, err := load(t, nil, nil, example); err != nil {
			t.Errorf("example %d: %v", i+1, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(worked, "eu=1", "a:1")
	f.Add("region: [", "eu", ",")
	f.Fuzz(func(t *testing.T, file, regions, join string) {
		cfg, err := Load(nil, []string{"WEIR_REGIONS=" + regions, "WEIR_GOSSIP_JOIN=" + join}, "f", []byte(file))
		if (cfg == nil) == (err == nil) {
			t.Fatal(cfg, err)
		}
		if cfg != nil && (cfg.Region == "" || cfg.Rules == "" || len(cfg.Regions) == 0) {
			t.Fatalf("accepted %+v", cfg)
		}
	})
}
