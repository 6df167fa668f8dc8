failure "R_SCHEMA" { meaning = "The card is malformed." }
failure "R_LENGTH" { meaning = "The text is too long." }
