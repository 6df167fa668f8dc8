package gate

import "testing"

func TestNetworkFileSystems(t *testing.T) {
	const why = "it is on %, whose locks do not keep out a writer on another machine; put the corpus on a local disk and copy it from there"
	for _, tt := range []struct {
		name  string
		magic uint32
		want  string // of the file system that is refused
	}{
		{"ext4", 0xef53, ""}, {"xfs", 0x58465342, ""}, {"btrfs", 0x9123683e, ""}, {"tmpfs", 0x01021994, ""}, {"overlay", 0x794c7630, ""},
		{"zfs", 0x2fc12fc1, ""}, {"fuse", 0x65735546, ""}, {"unknown", 0x12345678, ""}, {"ceph", 0x00c36400, ""},
		{"nfs", 0x6969, "NFS"}, {"smb", 0x517b, "SMB"}, {"cifs", 0xff534d42, "SMB"}, {"smb2", 0xfe534d42, "SMB"},
		{"afs", 0x5346414f, "AFS"}, {"lustre", 0x0bd00bd0, "Lustre"},
	} {
		got := ""
		if err := trustedForLocks(tt.magic); err != nil {
			got = err.Error()
		}
		want := ""
		if tt.want != "" {
			want = why[:len("it is on ")] + tt.want + why[len("it is on %"):]
		}
		if got != want {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}
	if err := localDisk(t.TempDir()); err != nil {
		t.Errorf("where tests run: %v", err)
	}
}
