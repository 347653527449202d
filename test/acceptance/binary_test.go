package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
)

// root is the module's folder, seen from this package's.
const root = "../.."

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "weir-acceptance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaryDir = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

var binaryDir string

// built is the binary, built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaryDir, "weir")
	args := []string{"build", "-o", path}
	if underRace() {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/weir")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/weir: %w\n%s", err, out)
	}
	return path, nil
})

// binary is the path of weir.
func binary(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// underRace says whether the tests themselves run under the race detector.
func underRace() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}
