package imports

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	linkPattern   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	makeInProse   = regexp.MustCompile("`make ([a-z][a-z-]*)")
	makeInCode    = regexp.MustCompile(`(?m)^(?:[$] )?make ([a-z][a-z-]*)`)
	targetPattern = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
)

// broken lists what a document points to that does not exist: files, by links,
// and targets of the Makefile. exists is asked about paths from the root.
func broken(path, text string, targets []string, exists func(string) bool) (found []string) {
	for _, match := range linkPattern.FindAllStringSubmatch(text, -1) {
		link, err := url.Parse(match[1])
		if err != nil {
			found = append(found, fmt.Sprintf("%s: link %s: %v", path, match[1], err))
			continue
		}
		if link.Scheme != "" || link.Host != "" || link.Path == "" {
			continue
		}
		if target := filepath.Join(filepath.Dir(path), link.Path); !exists(target) {
			found = append(found, fmt.Sprintf("%s links to %s, which does not exist", path, target))
		}
	}
	for i, part := range strings.Split(text, "```") { // every other part is code
		pattern := makeInProse
		if i%2 == 1 {
			pattern = makeInCode
		}
		for _, match := range pattern.FindAllStringSubmatch(part, -1) {
			if !slices.Contains(targets, match[1]) {
				found = append(found, fmt.Sprintf("%s speaks of make %s: the Makefile has no such target", path, match[1]))
			}
		}
	}
	return found
}

func TestDocumentsPointAtWhatExists(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, match := range targetPattern.FindAllStringSubmatch(string(makefile), -1) {
		targets = append(targets, match[1])
	}
	exists := func(path string) bool {
		_, err := os.Stat(filepath.Join(root, path))
		return !errors.Is(err, fs.ErrNotExist)
	}
	documents := 0
	for _, path := range files(t) {
		if !strings.HasSuffix(path, ".md") {
			continue
		}
		documents++
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range broken(path, string(text), targets, exists) {
			t.Error(what)
		}
	}
	if documents == 0 {
		t.Error("found no documents")
	}
}

func TestDocumentRuleCanFail(t *testing.T) {
	exists := func(path string) bool { return path == "docs/rules.md" || path == "docs" }
	for text, breaks := range map[string]bool{
		"[rules](rules.md)":                  false,
		"[rules](./rules.md#limits)":         false,
		"[docs](../docs)":                    false,
		"[here](#below)":                     false,
		"[there](https://example.org/x.md)":  false,
		"[gone](gone.md)":                    true,
		"[gone](../rules.md)":                true,
		"run `make test` and make sure":      false,
		"run `make coffee`":                  true,
		"```\n$ make coffee\n```":            true,
		"```\nmake test\n```\nmake it quick": false,
	} {
		if got := broken("docs/x.md", text, []string{"test"}, exists); len(got) > 0 != breaks {
			t.Errorf("%q: got %q, want broken: %v", text, got, breaks)
		}
	}
}
