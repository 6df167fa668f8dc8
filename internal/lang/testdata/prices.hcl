provider "a" {
  plugin = plugin.openai
  model  = "m"
  price {
    input  = 3000000
    output = 0.000002
  }
}

provider "b" {
  plugin = plugin.openai
  model  = "m"
  price {
    input_usd  = 3
    output_usd = "$5"
  }
}

provider "c" {
  plugin = plugin.openai
  model  = "m"
  price {
    input        = "3"
    cached_input = -1
    output       = 1e400
  }
}
