#! without base
resource "aws_x" "y" {}
module "y" {}
terraform {}
data "x" "y" {}
output "x" {}
step "a" {}
whatever "x" {}
import {}
