failure "R_SCHEMAS" {}
failure "ZEBRA" {}
