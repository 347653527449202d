package acceptance

import "syscall"

// dieWithParent has the kernel end a child whose test died without ending it.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
