#! without codes
failure "R_SCHEMA" { meaning = "x" }
failure "R_LENGTH" {
  meaning = "x"
  triage  = "accept"
}
