// Package golden runs tests over tables kept in files: cases of an input and
// what is expected of it. Run a test with -update to rewrite what is expected,
// and read the difference.
//
// A case is
//
//	=== name
//	input, any number of lines
//	>>>
//	expected, any number of lines
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Run calls got with each case's input and compares its answer.
func Run(t *testing.T, path string, got func(t *testing.T, input string) string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, cases := split(t, string(data))
	names := map[string]bool{}
	for i := range cases {
		c := &cases[i]
		if names[c.name] {
			t.Errorf("%s: two cases %q", path, c.name)
		}
		names[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			answer := strings.TrimRight(got(t, c.input), "\n") + "\n"
			if *update {
				c.want = answer
			} else if answer != c.want {
				t.Errorf("got\n%swant\n%s", answer, c.want)
			}
		})
	}
	if *update {
		File(t, path, join(head, cases))
	}
}

// File compares a whole file.
func File(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is not current; run the test with -update and read the difference", path)
	}
}

type entry struct{ name, input, want string }

const (
	title = "=== "
	arrow = ">>>\n"
)

func split(t *testing.T, text string) (head string, cases []entry) {
	t.Helper()
	parts := strings.Split("\n"+text, "\n"+title)
	for _, part := range parts[1:] {
		name, body, _ := strings.Cut(part, "\n")
		input, want, ok := strings.Cut(body+"\n", arrow)
		if !ok {
			t.Fatalf("case %q has no >>> line", name)
		}
		cases = append(cases, entry{name, input, strings.TrimRight(want, "\n") + "\n"})
	}
	return strings.TrimPrefix(parts[0], "\n"), cases
}

func join(head string, cases []entry) string {
	var b strings.Builder
	if head != "" {
		b.WriteString(strings.TrimRight(head, "\n") + "\n\n")
	}
	for i, c := range cases {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(title + c.name + "\n" + c.input + arrow + c.want)
	}
	return b.String()
}
