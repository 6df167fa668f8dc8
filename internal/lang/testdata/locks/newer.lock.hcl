digest "shout" "linux_amd64" { blake9 = "zz" }
digest "gone" "linux_amd64" { sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" }
edition = 2
model "judge" { snapshot = "x-2" }
failure "OLD" {
  retired = true
  since   = "2.0"
}
plugin "shout" { locked = { source = "./shout", name = "shout", kind = "stage", signed_by = "someone" } }
