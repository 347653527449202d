package config

import (
	"net"
	"path/filepath"
	"slices"
	"strings"

	"weir/limiter/document"
)

// whole checks what no field shows by itself.
func (l *loading) whole(file string) {
	if !l.unsure {
		l.required(file, "region", "NAME", l.config.Region)
		l.required(file, "rules", "PATH", l.config.Rules)
	}
	l.ownRegion()
	l.distinctPorts()
	l.ownFile()
	l.loopback()
}

// sound says whether every source of all of these fields was right.
func (l *loading) sound(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return l.broken[p] })
}

func (l *loading) required(file, path, form, value string) {
	if value == "" && l.sound(path) {
		l.problems.Add(document.Problem{File: file, Field: path, Reason: "is missing; " + howTo(path, form)})
	}
}

func (l *loading) ownRegion() {
	c := l.config
	if c.Region == "" || !l.sound("region", "regions") || slices.Contains(c.RegionNames(), c.Region) {
		return
	}
	l.wrong("regions", "this node's region %q is not among %s; add it with its weight", c.Region, strings.Join(c.RegionNames(), ", "))
}

// ownFile refuses a snapshot that is another field's file: it would be taken for
// a damaged one and set aside.
func (l *loading) ownFile() {
	c := l.config
	for _, other := range []struct{ path, file string }{{"rules", c.Rules}, {"gossip.keyring_file", c.Gossip.KeyringFile}} {
		if c.Snapshot != "" && other.file != "" && filepath.Clean(c.Snapshot) == filepath.Clean(other.file) && l.sound("snapshot", other.path) {
			l.wrong("snapshot", "%q is also %s; write the path of a file of its own", c.Snapshot, other.path)
		}
	}
}

// wrong adds a problem where the field's value came from.
func (l *loading) wrong(path, format string, args ...any) {
	l.problems.Add(l.config.origins[path].problem(path, format, args...))
}

// door is an address listened at.
type door struct{ path, addr string }

func (l *loading) doors() []door {
	c := l.config
	return []door{{"listen.grpc", c.Listen.GRPC}, {"listen.http", c.Listen.HTTP}, {"listen.gossip", c.Listen.Gossip}}
}

// distinctPorts refuses two doors at one address.
func (l *loading) distinctPorts() {
	doors := l.doors()
	for i, a := range doors {
		for _, b := range doors[:i] {
			if l.sound(a.path, b.path) && collide(a.addr, b.addr) {
				l.wrong(a.path, "%q is also %s; write another port", a.addr, b.path)
			}
		}
	}
}

func collide(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a) // both were checked
	hostB, portB, _ := net.SplitHostPort(b)
	if portA != portB || portA == "0" {
		return false
	}
	return hostA == hostB || isAll(hostA) || isAll(hostB)
}

func isAll(host string) bool {
	return host == "" || net.ParseIP(host).IsUnspecified()
}

// loopback refuses doors that others can reach unguarded. This version has no
// credentials for gRPC and HTTP; gossip has its keyring.
func (l *loading) loopback() {
	if l.config.Insecure || !l.sound("insecure") {
		return
	}
	for _, d := range l.doors() {
		host, _, _ := net.SplitHostPort(d.addr) // was checked
		if !l.sound(d.path) || isLoopback(host) {
			continue
		}
		const open = "insecure: true (--insecure, WEIR_INSECURE=true) if the network keeps strangers out"
		switch {
		case d.path != "listen.gossip":
			l.wrong(d.path, "%q is beyond loopback, where anyone who reaches it can use it: TLS and tokens are %s; write %s",
				d.addr, document.NotImplemented, open)
		case l.config.Gossip.KeyringFile == "" && l.sound("gossip.keyring_file"):
			l.wrong(d.path, "%q is beyond loopback, where anyone who reaches it can change counts; write gossip.keyring_file: PATH, or %s",
				d.addr, open)
		}
	}
}
