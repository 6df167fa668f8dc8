digest "shout" "linux_amd64" { sha256 = "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef" }
digest "shout" "darwin_arm64" { sha256 = "0123" }
digest "shout" "Linux" { sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" }
digest "shout" "linux_arm64" { sha256 = 7 }
digest "shout" "plan9_mips" {}
failure "lower" {}
failure "OLD" { retired = "yes" }
plugin "shout" { locked = { source = "./shout", name = "shout", version = "1.0.0", kind = "stage" } }
plugin "empty" {}
plugin "text" { locked = "./text" }
plugin "call" { locked = { source = file("x") } }
plugin "typed" { locked = { source = "./typed", name = "typed", kind = "stage", batches = "yes" } }
plugin "none" { locked = { name = "none", kind = "stage" } }
plugin "odd" { locked = { source = "./odd", name = "odd", kind = "stage", config = [{ name = "a", type = "strin" }] } }
