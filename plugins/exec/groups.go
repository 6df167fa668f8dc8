package exec

import (
	osexec "os/exec"
	"sync"
	"syscall"
)

// groups are the process groups of the commands that run. None of them is this
// process's own, so none would end with it: what a command has started would go on
// for ever.
type groups struct {
	mu      sync.Mutex
	running map[int]struct{} // by the number of the leader
}

// start starts a command as the leader of a group. The function that it gives ends
// what is left of that: its number cannot have gone to others while a member lives.
func (g *groups) start(cmd *osexec.Cmd) (end func(), err error) {
	g.mu.Lock() // nothing is started that endAll would not see
	defer g.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	leader := cmd.Process.Pid
	if g.running == nil {
		g.running = map[int]struct{}{}
	}
	g.running[leader] = struct{}{}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		_ = syscall.Kill(-leader, syscall.SIGKILL)
		delete(g.running, leader)
	}, nil
}

// endAll ends every command. The process is about to end, so the lock is kept, and
// nothing is started any more.
func (g *groups) endAll() {
	g.mu.Lock()
	for leader := range g.running {
		_ = syscall.Kill(-leader, syscall.SIGKILL)
	}
}
