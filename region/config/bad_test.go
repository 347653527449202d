package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"weir/limiter/document"
	"weir/limiter/document/golden"
)

func init() { hostName = func() (string, error) { return "host-1", nil } }

// load reads a configuration from flags, variables and a file.
func load(t *testing.T, flags, environ []string, file string) (*Config, error) {
	t.Helper()
	set := pflag.NewFlagSet("weir serve", pflag.ContinueOnError)
	AddFlags(set)
	if err := set.Parse(flags); err != nil {
		t.Fatal(err)
	}
	var data []byte
	if file != "" {
		data = []byte(file)
	}
	return Load(set, environ, "weir.yaml", data)
}

func TestBadConfigurations(t *testing.T) {
	golden.Run(t, "testdata/bad.txt", func(t *testing.T, input string) string {
		input, bare := strings.CutPrefix(input, "bare\n")
		var flags, environ []string
		if !bare {
			environ = []string{"WEIR_REGION=eu", "WEIR_RULES=rules.yaml"}
		}
		var file strings.Builder
		for line := range strings.Lines(input) {
			switch text := strings.TrimSuffix(line, "\n"); {
			case strings.HasPrefix(text, "$ "):
				environ = append(environ, text[2:])
			case strings.HasPrefix(text, "--"):
				flags = append(flags, text)
			default:
				file.WriteString(line)
			}
		}
		cfg, err := load(t, flags, environ, file.String())
		if err == nil || cfg != nil {
			t.Fatalf("accepted: %+v", cfg)
		}
		if strings.Contains(err.Error(), "3t") {
			t.Errorf("the password is shown: %v", err)
		}
		return err.Error()
	})
}

// wrong has a wrong value for every field.
var wrong = map[string]string{
	"region": "EU", "node": "my node", "regions": "eu=0",
	"listen.grpc": "7420", "listen.http": "127.0.0.1:99999", "listen.gossip": "weir.example:7422",
	"store": "mongodb://localhost", "gossip.join": "eu-2", "gossip.keyring_file": "vault://keys", "gossip.advertise": "eu-1:7422",
	"rules": "etcd://host/rules", "snapshot": "s3://bucket/state", "snapshot_interval": "1",
	"limits.keys": "0", "limits.quota_rows": "many", "limits.concurrent_checks": "-1", "insecure": "yes",
}

// inFile writes one field as weir.yaml.
func inFile(f *field, value string) string {
	if f.form == mapping {
		value = "{" + strings.ReplaceAll(value, "=", ": ") + "}"
	} else {
		value = `"` + value + `"`
	}
	if group, name, nested := strings.Cut(f.path, "."); nested {
		return group + ":\n  " + name + ": " + value + "\n"
	}
	return f.path + ": " + value + "\n"
}

// A wrong value of any field, from any source, is one problem.
func TestEveryFieldWrong(t *testing.T) {
	var all strings.Builder
	base := []string{"WEIR_REGION=eu", "WEIR_RULES=rules.yaml"}
	for i := range fields {
		f := &fields[i]
		value, ok := wrong[f.path]
		if !ok {
			t.Errorf("%s: write a wrong value", f.path)
			continue
		}
		_, byFile := load(t, nil, base, inFile(f, value))
		_, byVariable := load(t, nil, append([]string{f.env() + "=" + value}, without(base, f.env())...), "")
		_, byFlag := load(t, []string{"--" + f.flag() + "=" + value}, base, "")
		for _, err := range []error{byFile, byVariable, byFlag} {
			var e *document.Error
			if !errors.As(err, &e) || len(e.Problems) != 1 {
				t.Errorf("%s: got %v", f.path, err)
				continue
			}
			all.WriteString(err.Error() + "\n")
		}
	}
	golden.File(t, "testdata/every_field.txt", all.String())
}

func without(environ []string, name string) (out []string) {
	for _, pair := range environ {
		if !strings.HasPrefix(pair, name+"=") {
			out = append(out, pair)
		}
	}
	return out
}
