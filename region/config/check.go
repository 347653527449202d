package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"weir/limiter/document"
	"weir/limiter/store/redis"
)

// maxName is a label's length in DNS: node names are often host names.
const maxName = 63

func checkName(s string) error {
	const form = "write letters a to z, digits, and - . _ after the first"
	switch {
	case s == "":
		return errors.New("is empty; " + form)
	case len(s) > maxName:
		return fmt.Errorf("has %d bytes; the most is %d", len(s), maxName)
	}
	for i, r := range s {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
		case r != '-' && r != '.' && r != '_':
			return fmt.Errorf("cannot have %q; %s", r, form)
		case i == 0:
			return fmt.Errorf("cannot begin with %q; %s", r, form)
		}
	}
	return nil
}

// splitAddress splits host:port; the port is a number.
func splitAddress(s string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, errors.New("write host:port, such as 127.0.0.1:7420")
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 || text[0] == '+' || text[0] == '-' {
		return "", 0, fmt.Errorf("port %q: must be a number from 0 to 65535", text)
	}
	if host != "" && net.ParseIP(host) == nil && !isHostName(host) {
		return "", 0, fmt.Errorf("host %q: must be an IP address or a host name", host)
	}
	return host, port, nil
}

func isHostName(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if label == "" || len(label) > 63 || label[0] == '-' {
			return false
		}
		for _, r := range label {
			if !isLabelRune(r) {
				return false
			}
		}
	}
	return true
}

func checkListen(s string) error {
	_, _, err := splitAddress(s)
	return err
}

// checkListenIP asks for an address that gossip can bind UDP and TCP to alike.
func checkListenIP(s string) error {
	host, _, err := splitAddress(s)
	if err == nil && host != "" && host != "localhost" && net.ParseIP(host) == nil {
		err = fmt.Errorf("host %q: gossip listens at an IP address; write one, or nothing before the colon for all", host)
	}
	return err
}

func checkAdvertise(s string) error {
	host, port, err := splitAddress(s)
	ip := net.ParseIP(host)
	switch {
	case err != nil:
		return err
	case ip == nil || ip.IsUnspecified():
		return fmt.Errorf("host %q: write the IP address that other nodes reach", host)
	case port == 0:
		return errors.New("port 0: write the port that other nodes reach")
	}
	return nil
}

func checkJoin(s string) error {
	if name, ok := strings.CutPrefix(s, "dns+srv://"); ok {
		if !isHostName(name) {
			return errors.New("write the name of an SRV record after dns+srv://")
		}
		return nil
	}
	if scheme, _, ok := strings.Cut(s, "://"); ok {
		return fmt.Errorf("%s:// is %s; write host:port or dns+srv://NAME", scheme, document.NotImplemented)
	}
	host, port, err := splitAddress(s)
	switch {
	case err != nil:
		return err
	case host == "":
		return errors.New("has no host; write host:port")
	case port == 0:
		return errors.New("port 0: write the port the node's gossip is at")
	}
	return nil
}

func checkPath(s string) error {
	switch scheme, _, isURL := strings.Cut(s, "://"); {
	case s == "":
		return errors.New("is empty; write a path, or remove the field")
	case isURL:
		return fmt.Errorf("%s:// is %s; write the path of a file", scheme, document.NotImplemented)
	case strings.ContainsRune(s, 0):
		return errors.New("a path cannot have NUL")
	}
	return nil
}

// checkStore does not repeat the URL: it may hold the password.
func checkStore(s string) error {
	if s == MemoryStore {
		return nil
	}
	if !strings.Contains(s, "://") {
		return errors.New("not a store; write memory, or a URL such as redis://HOST:PORT/DB")
	}
	return redis.CheckURL(s)
}

// redacted is a store's URL as it may be shown: without its password, and
// without anything when it cannot be split for sure.
func redacted(s string) string {
	scheme, _, ok := strings.Cut(s, "://")
	if !ok {
		if strings.Contains(s, "@") {
			return "…"
		}
		return s
	}
	u, err := url.Parse(s)
	if err != nil || u.Fragment != "" || strings.Contains(u.Path+u.RawQuery, "@") {
		if strings.ContainsAny(scheme, ":@") {
			return "…"
		}
		return scheme + "://…"
	}
	return u.Redacted()
}

// isLoopback says whether only this machine can reach the host.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func isLabelRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_'
}
