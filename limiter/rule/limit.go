package rule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"weir/limiter/document"
)

const limitForm = "write COUNT/UNIT with " + document.UnitNames + ", such as 100/s"

// parseLimit reads COUNT/UNIT or COUNT/DURATION: 100/s, 5/10s, 1e6/day.
func parseLimit(s string) (count int64, window time.Duration, err error) {
	count, per, err := parseCount(s, limitForm)
	if err != nil {
		return 0, 0, err
	}
	window, err = parseWindow(per)
	return count, window, err
}

// parseCount reads the part before the slash.
func parseCount(s, form string) (count int64, per string, err error) {
	before, per, ok := strings.Cut(s, "/")
	if !ok || before == "" || per == "" {
		return 0, "", errors.New("not a rate; " + form)
	}
	count, err = document.ParseInt(before)
	if err != nil {
		return 0, "", fmt.Errorf("count %q: %w", before, err)
	}
	if count < 1 {
		return 0, "", fmt.Errorf("count %d: must be at least 1", count)
	}
	return count, per, nil
}

func parseWindow(per string) (time.Duration, error) {
	if strings.Trim(per, "0123456789") == "month" {
		return 0, errors.New("a limit cannot be per month, which has no fixed length; write days, such as 1000/30day")
	}
	if per[0] < '0' || per[0] > '9' {
		window, err := document.ParseUnit(per)
		if err != nil {
			return 0, fmt.Errorf("%w; %s", err, limitForm)
		}
		return window, nil
	}
	window, err := document.ParseDuration(per)
	if err != nil {
		return 0, fmt.Errorf("window %q: %w", per, err)
	}
	if window < time.Millisecond {
		return 0, fmt.Errorf("window %q: must be at least 1ms", per)
	}
	return window, nil
}
