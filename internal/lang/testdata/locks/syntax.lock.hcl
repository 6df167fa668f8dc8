failure "OLD" { retired = true
