package acceptance

import (
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// goodConfig is a weir.yaml with nothing wrong in it; each case changes a part.
const goodConfig = `region: eu
listen: {grpc: 127.0.0.1:0, http: 127.0.0.1:0, gossip: 127.0.0.1:0}
rules: rules.yaml
`

const goodRules = `rules:
  - name: calls
    count_by: [client]
    limit: 5/s
`

// wrongNode is a weir.yaml, a variable or a flag with one mistake, and how the
// one line begins that says so. config stands for the whole file or, when it
// begins with "+", is added to the good one as line 4.
type wrongNode struct {
	field  string // as in --print-config; empty: none of them
	config string
	env    string
	flag   string
	want   string
}

var wrongNodes = []wrongNode{
	{field: "region", config: "rules: rules.yaml\n", want: "weir.yaml: region: is missing; write region: NAME"},
	{field: "region", config: "region: EU West\nrules: rules.yaml\n", want: `weir.yaml:1:9: region: "EU West": cannot have 'E'`},
	{field: "region", flag: "--region=_", want: `--region: "_": cannot begin with '_'`},
	{field: "node", config: "+node: Node 1", want: `weir.yaml:4:7: node: "Node 1": cannot have 'N'`},
	{field: "node", env: "WEIR_NODE=a/b", want: `WEIR_NODE: "a/b": cannot have '/'`},
	{field: "regions", config: "+regions: {us: 1}", want: `weir.yaml:4:10: regions: this node's region "eu" is not among us`},
	{field: "regions", config: "+regions: {eu: 0}", want: `weir.yaml:4:15: regions.eu: weight "0": must be 1 to 1000000`},
	{field: "regions", config: "+regions: [eu]", want: "weir.yaml:4:10: regions: is a list; write a mapping"},
	{field: "regions", env: "WEIR_REGIONS=eu", want: `WEIR_REGIONS: "eu": write the form eu=1,us=2`},
	{field: "listen.grpc", config: "region: eu\nrules: rules.yaml\nlisten: {grpc: 7420}\n", want: `weir.yaml:3:16: listen.grpc: "7420": write host:port`},
	{field: "listen.grpc", config: "region: eu\nrules: rules.yaml\nlisten:\n  grpc: 0.0.0.0:7420\n", want: `weir.yaml:4:9: listen.grpc: "0.0.0.0:7420" is beyond loopback`},
	{field: "listen.grpc", flag: "--listen-grpc=:7420", want: `--listen-grpc: ":7420" is beyond loopback`},
	{field: "listen.http", config: "region: eu\nrules: rules.yaml\nlisten: {http: 127.0.0.1:99999}\n", want: `weir.yaml:3:16: listen.http: "127.0.0.1:99999": port "99999": must be a number from 0 to 65535`},
	{field: "listen.http", env: "WEIR_LISTEN_HTTP=weir.example:7421", want: `WEIR_LISTEN_HTTP: "weir.example:7421" is beyond loopback`},
	{field: "listen.gossip", config: "region: eu\nrules: rules.yaml\nlisten: {gossip: weir.example:7422}\n", want: `weir.yaml:3:18: listen.gossip: "weir.example:7422": host "weir.example": gossip listens at an IP address`},
	{field: "listen.gossip", config: "region: eu\nrules: rules.yaml\nlisten: {gossip: :7422}\n", want: `weir.yaml:3:18: listen.gossip: ":7422" is beyond loopback, where anyone who reaches it can change counts; write gossip.keyring_file`},
	{field: "listen.gossip", config: "region: eu\nrules: rules.yaml\nlisten: {grpc: 127.0.0.1:7000, gossip: 127.0.0.1:7000}\n", want: `weir.yaml:3:40: listen.gossip: "127.0.0.1:7000" is also listen.grpc`},
	{config: "region: eu\nrules: rules.yaml\nlisten: {grcp: 127.0.0.1:7420}\n", want: "weir.yaml:3:10: listen.grcp: unknown field; did you mean grpc?"},
	{field: "store", config: "+store: memcached://host", want: `weir.yaml:4:8: store: "memcached://host": unknown kind of store; write `},
	{field: "store", config: "+store: redis+cluster://a,b", want: `weir.yaml:4:8: store: "redis+cluster://a,b": redis+cluster:// is not implemented in this version`},
	{field: "store", config: "+store: redis://user:s3cr3t@host/x", want: `weir.yaml:4:8: store: "redis://user:xxxxx@host/x": invalid database number`},
	{field: "gossip.join", config: "+gossip: {join: [\":7422\"]}", want: `weir.yaml:4:17: gossip.join[0]: ":7422": has no host; write host:port`},
	{field: "gossip.join", env: "WEIR_GOSSIP_JOIN=a:1,a:1", want: `WEIR_GOSSIP_JOIN: "a:1": is listed twice`},
	{field: "gossip.keyring_file", config: "+gossip: {keyring_file: vault://keys}", want: `weir.yaml:4:24: gossip.keyring_file: "vault://keys": vault:// is not implemented in this version`},
	{field: "gossip.advertise", config: "+gossip: {advertise: 0.0.0.0:7422}", want: `weir.yaml:4:21: gossip.advertise: "0.0.0.0:7422": host "0.0.0.0": write the IP address`},
	{field: "rules", config: "region: eu\n", want: "weir.yaml: rules: is missing; write rules: PATH"},
	{field: "rules", config: "region: eu\nrules: etcd://host/weir\n", want: `weir.yaml:2:8: rules: "etcd://host/weir": etcd:// is not implemented in this version`},
	{field: "snapshot", config: "+snapshot: \"\"", want: `weir.yaml:4:11: snapshot: "": is empty; write a path`},
	{field: "snapshot_interval", config: "+snapshot_interval: 10ms", want: `weir.yaml:4:20: snapshot_interval: "10ms": must be 100ms to 1h`},
	{field: "snapshot_interval", flag: "--snapshot-interval=often", want: `--snapshot-interval: "often": `},
	{field: "limits.keys", config: "+limits: {keys: 0}", want: `weir.yaml:4:16: limits.keys: "0": must be 1 to 1000000000`},
	{field: "limits.quota_rows", config: "+limits: {quota_rows: many}", want: `weir.yaml:4:22: limits.quota_rows: "many": not a whole number`},
	{field: "limits.concurrent_checks", config: "+limits: {concurrent_checks: -1}", want: `weir.yaml:4:29: limits.concurrent_checks: "-1": must be 1 to 1000000000`},
	{field: "insecure", config: "+insecure: yes", want: `weir.yaml:4:11: insecure: "yes": write true or false`},

	{config: "+colour: red", want: "weir.yaml:4:1: colour: unknown field; the fields are gossip, insecure,"},
	{config: "+snapshoot: a.db", want: "weir.yaml:4:1: snapshoot: unknown field; did you mean snapshot?"},
	{config: "+region: us", want: "weir.yaml:4:1: region: is given twice, first in line 1"},
	{config: "+tls: {cert: a, key: b}", want: "weir.yaml:4:1: tls: not implemented in this version"},
	{config: "+access: {tokens_file: a}", want: "weir.yaml:4:1: access: not implemented in this version"},
	{config: "+gateway: {trusted_proxies: [10.0.0.0/8]}", want: "weir.yaml:4:1: gateway: not implemented in this version"},
	{config: "+telemetry: {otlp: http://collector:4317}", want: "weir.yaml:4:1: telemetry: not implemented in this version"},
	{config: "+reserve: 20%", want: "weir.yaml:4:1: reserve: not implemented in this version"},
	{config: "+hash_keys: true", want: "weir.yaml:4:1: hash_keys: not implemented in this version"},
	{config: "", want: "weir.yaml: is empty"},
	{config: "region: [eu\n", want: "weir.yaml:1:9: not YAML: "},
	{env: "WEIR_LISTEN_GRCP=127.0.0.1:1", want: "WEIR_LISTEN_GRCP: unknown variable; did you mean WEIR_LISTEN_GRPC?"},
	{env: "WEIR_TLS_CERT=a", want: "WEIR_TLS_CERT: not implemented in this version"},
	{flag: "--colour=red", want: "unknown flag: --colour"},

	// What the fields name is read too.
	{flag: "--config=elsewhere.yaml", want: "config: open elsewhere.yaml: no such file or directory"},
	{flag: "--rules=elsewhere.yaml", want: "rules: open elsewhere.yaml: no such file or directory"},
	{flag: "--gossip-keyring-file=elsewhere", want: "gossip.keyring_file: keyring: open elsewhere: no such file or directory"},
	{flag: "--gossip-keyring-file=rules.yaml", want: "gossip.keyring_file: keyring: rules.yaml:1: not base64"},
}

func (w wrongNode) text() string {
	if added, ok := strings.CutPrefix(w.config, "+"); ok {
		return goodConfig + added + "\n"
	}
	if w.config == "" && (w.env != "" || w.flag != "") {
		return goodConfig
	}
	return w.config
}

// refused checks that a command ended with exit code 2 and one line that begins
// as wanted.
func refused(t *testing.T, p *process, want string) {
	t.Helper()
	said := p.stderr.String()
	if code := p.exitCode(); code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
	if !strings.HasPrefix(said, want) || strings.Count(said, "\n") != 1 {
		t.Errorf("said:\n%swant one line that begins with:\n%s", said, want)
	}
	if strings.Contains(said, "s3cr3t") {
		t.Error("a password is shown")
	}
	if out := p.stdout.String(); out != "" {
		t.Errorf("standard output has %q", out)
	}
}

// Wrong configuration of a node gives one clear error and exit code 2.
func TestWrongConfiguration(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "rules.yaml"), goodRules)
	for _, tc := range wrongNodes {
		t.Run(tc.want, func(t *testing.T) {
			writeFile(t, filepath.Join(dir, "weir.yaml"), tc.text())
			args := []string{"serve", "--config", "weir.yaml"}
			if tc.flag != "" {
				args = append(args, tc.flag)
			}
			var variables []string
			if tc.env != "" {
				variables = append(variables, tc.env)
			}
			refused(t, run(t, dir, variables, args...), tc.want)
		})
	}
}

// Every field that --print-config shows has a case above.
func TestEveryFieldCanBeWrong(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "weir.yaml"), goodConfig)
	writeFile(t, filepath.Join(dir, "rules.yaml"), goodRules)
	p := run(t, dir, nil, "serve", "--config", "weir.yaml", "--print-config")
	if p.exitCode() != 0 {
		t.Fatalf("exit code %d: %s", p.exitCode(), p.stderr.String())
	}
	covered := map[string]bool{}
	for _, tc := range wrongNodes {
		covered[tc.field] = true
	}
	shown := printedFields(p.stdout.String())
	for _, field := range shown {
		if !covered[field] {
			t.Errorf("no case has %s wrong", field)
		}
		delete(covered, field)
	}
	delete(covered, "")
	if len(covered) > 0 || len(shown) < 10 {
		t.Errorf("--print-config shows %v, but not %v", shown, covered)
	}
}

// printedFields are the paths of what --print-config shows. A field that is not
// set stands there as a comment.
func printedFields(text string) (paths []string) {
	group := ""
	for line := range strings.Lines(text) {
		line = strings.Replace(strings.TrimRight(line, "\n"), "# ", "", 1)
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(strings.SplitN(value, "#", 2)[0])
		switch nested := strings.HasPrefix(name, " "); {
		case !nested && value == "":
			group = name + "."
		case nested:
			paths = append(paths, group+strings.TrimSpace(name))
		default:
			paths, group = append(paths, name), ""
		}
	}
	return paths
}

// wrongRules is a rules file with one mistake, or the body of one rule that has
// it, and how the one line begins that says so.
type wrongRules struct {
	field string
	rule  string // lines of a rule, the first in line 2 after "  - "
	file  string // the whole file, if rule is empty
	want  string
}

var wrongRuleFiles = []wrongRules{
	{field: "name", rule: "limit: 1/s", want: "rules.yaml:2:5: rules[0]: has no name; write name:"},
	{field: "name", rule: "name: a/b\nlimit: 1/s", want: `rules.yaml:2:11: rules[0] "a/b": name: "a/b": cannot have '/'`},
	{field: "match", rule: "name: a\nmatch: POST\nlimit: 1/s", want: `rules.yaml:3:12: rules[0] "a": match: is a single value; write a mapping`},
	{field: "match", rule: "name: a\nmatch: {path: /v1/*}\nlimit: 1/s", want: `rules.yaml:3:19: rules[0] "a": match.path: "/v1/*": "*" makes it a pattern, which is not implemented`},
	{field: "count_by", rule: "name: a\ncount_by: [ip, ip]\nlimit: 1/s", want: `rules.yaml:3:20: rules[0] "a": count_by[1]: "ip" is listed twice`},
	{field: "count_by", rule: "name: a\ncount_by: [ip/24]\nlimit: 1/s", want: `rules.yaml:3:16: rules[0] "a": count_by[0]: "ip/24": counting or matching by address range is not implemented`},
	{field: "limit", rule: "name: daily\nlimit: 100/x", want: `rules.yaml:3:12: rules[0] "daily": limit: "100/x": unknown unit "x"; write COUNT/UNIT`},
	{field: "limit", rule: "name: a\nlimit: 0/s", want: `rules.yaml:3:12: rules[0] "a": limit: "0/s": count 0: must be at least 1`},
	{field: "limit", rule: "name: a\ncount_by: [ip]", want: `rules.yaml:2:5: rules[0] "a": has no limit; write limit: COUNT/UNIT`},
	{field: "burst", rule: "name: a\nlimit: 1/s\nburst: 0", want: `rules.yaml:4:12: rules[0] "a": burst: 0: must be at least 1`},
	{field: "burst", rule: "name: a\nquota: 5/day\nburst: 5", want: `rules.yaml:4:12: rules[0] "a": burst: belongs to limit`},
	{field: "quota", rule: "name: a\nquota: 100/24h", want: `rules.yaml:3:12: rules[0] "a": quota: "100/24h": a quota counts by whole periods of the calendar`},
	{field: "quota", rule: "name: a\nquota: 1e16/day", want: `rules.yaml:3:12: rules[0] "a": quota: "1e16/day": count 10000000000000000: the most`},
	{field: "timezone", rule: "name: a\nquota: 5/day\ntimezone: PST", want: `rules.yaml:4:15: rules[0] "a": timezone: "PST": unknown time zone; did you mean America/Los_Angeles?`},
	{field: "timezone", rule: "name: a\nquota: 5/day\ntimezone: Local", want: `rules.yaml:4:15: rules[0] "a": timezone: "Local": differs from machine to machine`},
	{field: "anchor", rule: "name: a\nquota: 5/month\nanchor: 32", want: `rules.yaml:4:13: rules[0] "a": anchor: 32: must be a day of the month, 1 to 31`},
	{field: "anchor", rule: "name: a\nquota: 5/day\nanchor: 15", want: `rules.yaml:4:13: rules[0] "a": anchor: belongs to a quota per month`},
	{field: "overshoot", rule: "name: a\nquota: 5/day\novershoot: 5", want: `rules.yaml:4:16: rules[0] "a": overshoot: "5": has no unit; write a share of the quota`},
	{field: "refundable", rule: "name: a\nlimit: 5/day\nrefundable: true", want: `rules.yaml:4:17: rules[0] "a": refundable: belongs to quota`},

	{rule: "name: a\ncolour: red\nlimit: 1/s", want: ruleFieldsAre},
	{rule: "name: a\nlimt: 1/s", want: `rules.yaml:3:5: rules[0] "a": limt: unknown field; did you mean limit?`},
	{rule: "name: a\nlimit: 1/s\nlimit: 2/s", want: `rules.yaml:4:5: rules[0] "a": limit: is given twice, first in line 3`},
	{rule: "name: a\nlimits: [1/s]", want: `rules.yaml:3:5: rules[0] "a": limits: not implemented in this version`},
	{rule: "name: a\nlimit: 1/s\nalgorithm: sliding_window", want: `rules.yaml:4:5: rules[0] "a": algorithm: not implemented in this version`},
	{rule: "name: a\nlimit: 1/s\nmode: shadow", want: `rules.yaml:4:5: rules[0] "a": mode: not implemented in this version`},
	{rule: "name: a\nlimit: 1/s\nrollout: 10%", want: `rules.yaml:4:5: rules[0] "a": rollout: not implemented in this version`},
	{rule: "name: a\nlimit: 1/s\ncost: 10", want: `rules.yaml:4:5: rules[0] "a": cost: not implemented in this version`},
	{rule: "name: a\nquota: 5/day\non_store_failure: open", want: `rules.yaml:4:5: rules[0] "a": on_store_failure: not implemented in this version`},
	{rule: "name: a\nquota: 5/day\nnotify: []", want: `rules.yaml:4:5: rules[0] "a": notify: not implemented in this version`},
	{rule: "name: a\nconcurrency: 100", want: `rules.yaml:3:5: rules[0] "a": concurrency: not implemented in this version`},
	{rule: "name: a\nlimit: 1/s\nidempotency: 24h", want: `rules.yaml:4:5: rules[0] "a": idempotency: not implemented in this version`},
	{rule: "name: a\nlimit: 1/s\n  - name: a\nlimit: 2/s", want: `rules.yaml:4:11: rules[1] "a": name: "a" is also the name of the rule in line 2`},
	{rule: "name: a\nlimit: 1/s\n  - name: b\nlimit: 1/s", want: `rules.yaml:4:5: rules[1] "b": is unreachable: it matches, counts and limits the same as "a"`},
	{file: "tiers: {default: free}\nrules: [{name: a, limit: 1/s}]\n", want: "rules.yaml:1:1: tiers: not implemented in this version"},
	{file: "exempt: []\nrules: [{name: a, limit: 1/s}]\n", want: "rules.yaml:1:1: exempt: not implemented in this version"},
	{file: "rules: []\n", want: "rules.yaml:1:8: rules: is empty; write at least one rule"},
	{file: "# none\n", want: "rules.yaml: is empty"},
	{file: "rules: [{name: a\n", want: "rules.yaml:1:9: not YAML: "},
}

// ruleFieldsAre is how the line begins that lists every field of a rule.
const ruleFieldsAre = `rules.yaml:3:5: rules[0] "a": colour: unknown field; the fields are `

func (w wrongRules) text() string {
	if w.rule == "" {
		return w.file
	}
	var b strings.Builder
	b.WriteString("rules:\n")
	for i, line := range strings.Split(w.rule, "\n") {
		switch {
		case i == 0:
			line = "  - " + line
		case !strings.HasPrefix(line, " "):
			line = "    " + line
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// Wrong rules are refused by `weir serve` and `weir rules validate` in the same
// words.
func TestWrongRules(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "weir.yaml"), goodConfig)
	for _, tc := range wrongRuleFiles {
		t.Run(tc.want, func(t *testing.T) {
			writeFile(t, filepath.Join(dir, "rules.yaml"), tc.text())
			refused(t, run(t, dir, nil, "serve", "--config", "weir.yaml"), tc.want)
			refused(t, run(t, dir, nil, "rules", "validate", "rules.yaml"), tc.want)
		})
	}
}

// Every field that a rule may have has a case above.
func TestEveryRuleFieldCanBeWrong(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "rules.yaml"), wrongRules{rule: "name: a\ncolour: red\nlimit: 1/s"}.text())
	said := run(t, dir, nil, "rules", "validate", "rules.yaml").stderr.String()
	list, ok := strings.CutPrefix(strings.TrimSpace(said), ruleFieldsAre)
	if !ok {
		t.Fatalf("said %q", said)
	}
	covered := map[string]bool{}
	for _, tc := range wrongRuleFiles {
		covered[tc.field] = true
	}
	for _, field := range strings.Split(list, ", ") {
		if !covered[field] {
			t.Errorf("no case has %s wrong", field)
		}
	}
}

func TestRightRules(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "rules.yaml"), goodRules)
	p := run(t, dir, nil, "rules", "validate", "rules.yaml")
	if p.exitCode() != 0 || !strings.HasPrefix(p.stdout.String(), "rules.yaml: 1 rules") || p.stderr.String() != "" {
		t.Errorf("exit code %d, said %q and %q", p.exitCode(), p.stdout.String(), p.stderr.String())
	}
}

// With insecure, a node listens beyond loopback: the refusal is about
// credentials, not about the address.
func TestInsecure(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "rules.yaml"), goodRules)
	writeFile(t, filepath.Join(dir, "weir.yaml"), `region: eu
listen: {grpc: ":0", http: ":0", gossip: 127.0.0.1:0}
rules: rules.yaml
insecure: true
`)
	p := run(t, dir, nil, "serve", "--config", "weir.yaml", "--print-config")
	if p.exitCode() != 0 {
		t.Errorf("exit code %d: %s", p.exitCode(), p.stderr.String())
	}
}

// A port that is taken is no wrong configuration, but is said as clearly.
func TestPortInUse(t *testing.T) {
	lis, err := net.Listen("tcp", net.JoinHostPort(newIP(), "7420"))
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "rules.yaml"), goodRules)
	writeFile(t, filepath.Join(dir, "weir.yaml"), goodConfig)
	for field, flag := range map[string]string{"listen.grpc": "--listen-grpc=", "listen.http": "--listen-http=", "gossip": "--listen-gossip="} {
		p := launch(t, field, dir, nil, binary(t), "serve", "--config", "weir.yaml", flag+lis.Addr().String())
		code := p.wait(t, 10*time.Second)
		want := regexp.MustCompile(`(?m)^weir: ` + regexp.QuoteMeta(field) + `: .*` + regexp.QuoteMeta(lis.Addr().String()) + `.*in use`)
		if code != 1 || !want.MatchString(p.stderr.String()) {
			t.Errorf("%s: exit code %d, said %q", field, code, p.stderr.String())
		}
	}
}
