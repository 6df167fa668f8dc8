n = var.x
