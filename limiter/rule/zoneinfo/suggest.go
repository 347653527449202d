package zoneinfo

import (
	"strings"

	"weir/limiter/document"
)

// abbreviations are what people write and what no zone is called, or several
// would be: the zone most of them mean.
var abbreviations = map[string]string{
	"pst": "America/Los_Angeles", "pdt": "America/Los_Angeles", "pt": "America/Los_Angeles",
	"mdt": "America/Denver", "mt": "America/Denver",
	"cst": "America/Chicago", "cdt": "America/Chicago", "ct": "America/Chicago",
	"edt": "America/New_York", "et": "America/New_York",
	"bst": "Europe/London", "cest": "Europe/Berlin", "eest": "Europe/Athens", "msk": "Europe/Moscow",
	"ist": "Asia/Kolkata", "jst": "Asia/Tokyo", "kst": "Asia/Seoul", "sgt": "Asia/Singapore", "hkt": "Asia/Hong_Kong",
	"aest": "Australia/Sydney", "aedt": "Australia/Sydney", "nzst": "Pacific/Auckland", "nzdt": "Pacific/Auckland",
	"z": "UTC",
}

// Suggest is the name that was probably meant, empty when none is likely.
func Suggest(written string) string {
	plain := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(written)), " ", "_")
	if name, ok := abbreviations[plain]; ok {
		return name
	}
	names := Names()
	lower := make([]string, len(names))
	byLower := make(map[string]string, len(names))
	for i, name := range names {
		lower[i] = strings.ToLower(name)
		byLower[lower[i]] = name
	}
	if name, ok := byLower[plain]; ok {
		return name
	}
	for i, name := range lower {
		if city := name[strings.LastIndexByte(name, '/')+1:]; city == plain {
			return names[i]
		}
	}
	return byLower[document.Nearest(plain, lower)]
}
