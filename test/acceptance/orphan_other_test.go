//go:build !linux

package acceptance

import "syscall"

// dieWithParent is Linux's; elsewhere a child may outlive a test that died.
func dieWithParent() *syscall.SysProcAttr { return nil }
