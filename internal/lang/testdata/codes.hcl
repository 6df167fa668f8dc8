#! without codes
failure "R_SCHEMA" {
  meaning = "The card is malformed."
  retired = true
}
failure "R_LENGTH" { meaning = "" }
failure "R_UNUSED" {
  meaning = "Nothing gives it."
  triage  = "rejct"
}
failure "r-lower" { meaning = "x" }
failure "E_MINE" { meaning = "x" }
