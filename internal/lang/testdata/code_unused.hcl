failure "R_UNUSED" { meaning = "Nothing gives it." }
