locals {
  a = <<-EOF
    text
  EOF }
}
