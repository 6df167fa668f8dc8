#! without pipeline
locals { x = 1 }
