locals "x" {}
variable {}
