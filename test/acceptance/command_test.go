package acceptance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const commandRules = `
rules:
  - name: hourly
    count_by: [api_key]
    limit: 2/h
  - name: daily
    count_by: [api_key]
    quota: 100/day
`

// `weir check` tells by its exit code what was decided, and explains it.
func TestCheckCommand(t *testing.T) {
	n := startNode(t, "memory", commandRules)
	addr := "--addr=" + n.grpcAddr()
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout string // it begins
		stderr string // it contains
	}{
		{"allowed", []string{"check", addr, "api_key=a"}, 0, "allowed by ", ""},
		{"a look", []string{"check", addr, "api_key=a", "--cost=0"}, 0, "allowed by ", ""},
		{"the last", []string{"check", addr, "api_key=a"}, 0, "allowed by ", ""},
		{"denied", []string{"check", addr, "api_key=a"}, 3, "denied by hourly: limit_exceeded, retry after ", ""},
		{"never", []string{"check", addr, "api_key=b", "--cost=3"}, 3, "denied by hourly: cost_exceeds_limit", ""},
		{"no rule", []string{"check", addr, "user=u"}, 0, "allowed: no rule matches", ""},
		{"no arguments", []string{"check", addr}, 2, "", "requires at least 1 arg"},
		{"not a pair", []string{"check", addr, "api_key"}, 2, "", `argument "api_key": write KEY=VALUE`},
		{"twice", []string{"check", addr, "a=1", "a=2"}, 2, "", "given twice"},
		{"unknown flag", []string{"check", addr, "--colour", "a=1"}, 2, "", "unknown flag: --colour"},
		{"output", []string{"check", addr, "-o", "xml", "a=1"}, 2, "", "write table, json or yaml"},
		{"cost not a number", []string{"check", addr, "--cost=x", "a=1"}, 2, "", "--cost"},
		{"unknown command", []string{"chekc"}, 2, "", "chekc"},
		{"nobody there", []string{"check", "--addr=" + newIP() + ":7420", "a=1"}, 1, "", "weir: node "},
		{"refused by the node", []string{"check", addr, "--cost=2000000000", "a=1"}, 1, "", "cost: 2000000000; must be at most"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := run(t, n.dir, nil, tc.args...)
			if p.exitCode() != tc.code || !strings.HasPrefix(p.stdout.String(), tc.stdout) || !strings.Contains(p.stderr.String(), tc.stderr) {
				t.Errorf("exit code %d, want %d; said %q and %q", p.exitCode(), tc.code, p.stdout.String(), p.stderr.String())
			}
			if fails := tc.code == 1 || tc.code == 2; (p.stderr.String() != "") != fails {
				t.Errorf("standard error has %q", p.stderr.String())
			}
		})
	}
}

// What is printed as JSON is the API's message.
func TestQuotaCommand(t *testing.T) {
	n := startNode(t, "memory", commandRules)
	variables := []string{"WEIR_ADDR=" + n.grpcAddr()}
	run(t, n.dir, variables, "check", "api_key=a")
	p := run(t, n.dir, variables, "quota", "get", "daily", "a", "-o", "json")
	var answer struct {
		Quota struct{ Rule, Key, Used, Limit string }
	}
	if err := json.Unmarshal([]byte(p.stdout.String()), &answer); err != nil {
		t.Fatalf("%v in %q", err, p.stdout.String())
	}
	if got := fmt.Sprint(answer.Quota); got != "{daily a 1 100}" {
		t.Errorf("got %s", got)
	}
	if p := run(t, n.dir, variables, "quota", "list"); p.exitCode() != 0 || !strings.Contains(p.stdout.String(), "daily") {
		t.Errorf("exit code %d, said %q and %q", p.exitCode(), p.stdout.String(), p.stderr.String())
	}
	if p := run(t, n.dir, variables, "quota", "get", "hourly", "a"); p.exitCode() != 1 || !strings.Contains(p.stderr.String(), "hourly") {
		t.Errorf("a rule without a quota: exit code %d, said %q", p.exitCode(), p.stderr.String())
	}
}
