failure "OLD" {}
