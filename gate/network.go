package gate

import "fmt"

// A corpus on a network file system is refused where flock(2) is not one lock for
// all machines: the promise of a single writer would hold on each machine for
// itself. What is listed is known not to be trusted; an unknown file system is.

// remoteFileSystems are the magic numbers that statfs(2) gives.
var remoteFileSystems = map[uint32]string{
	0x6969:     "NFS",    // flock is made of byte-range locks of the server, and of none with local_lock or nolock
	0x517b:     "SMB",    // the server may ignore it, and other clients may not see it
	0xff534d42: "SMB",    // CIFS
	0xfe534d42: "SMB",    // SMB2
	0x5346414f: "AFS",    // flock is local to each client
	0x6b414653: "AFS",    // of the kernel
	0x0bd00bd0: "Lustre", // local to each client, or off, by default
	0x19830326: "BeeGFS", // local to each client by default
}

// trustedForLocks says why the locks of a file system are not enough; nil if they
// may be. FUSE is let pass: it says nothing of what is behind it, and most of it is
// local.
func trustedForLocks(magic uint32) error {
	name, remote := remoteFileSystems[magic]
	if !remote {
		return nil
	}
	return fmt.Errorf("it is on %s, whose locks do not keep out a writer on another machine; put the corpus on a local disk and copy it from there", name)
}
