digest "shout" "linux_amd64" { sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" }
digest "shout" "linux_amd64" { sha256 = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210" }
failure "OLD" {}
failure "OLD" { retired = true }
plugin "shout" { locked = { source = "./shout", name = "shout", version = "1.0.0", kind = "stage" } }
plugin "shout" { locked = { source = "./shout", name = "shout", version = "1.1.0", kind = "stage" } }
