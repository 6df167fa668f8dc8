stage "a" { timeout = "1s" cache = true }
