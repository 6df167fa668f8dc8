failure "R_GRADE" { retired = true }
failure "ZEBRA" { retired = true }
failure "R_SCHEMA" { retired = true }
failure "ZEBRA" { retired = true }
