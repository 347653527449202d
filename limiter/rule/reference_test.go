package rule

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The reference names every field, and its examples say what it says they do.
func TestReference(t *testing.T) {
	data, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, name := range slices.Concat(fileFields.Known, fileFields.Later, ruleFields.Known, ruleFields.Later) {
		if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, name+":") {
			t.Errorf("%s is not in docs/rules.md", name)
		}
	}
	blocks := strings.Split(text, "```yaml\n")[1:]
	for i, block := range blocks {
		example, rest, _ := strings.Cut(block, "```")
		_, err := Parse("rules.yaml", []byte(example))
		if !strings.HasPrefix(example, "# wrong") {
			if err != nil {
				t.Errorf("example %d: %v", i+1, err)
			}
			continue
		}
		_, says, _ := strings.Cut(rest, "```text\n")
		says, _, _ = strings.Cut(says, "\n```")
		if err == nil || err.Error() != says {
			t.Errorf("example %d: got\n%v\nwant\n%s", i+1, err, says)
		}
	}
}
