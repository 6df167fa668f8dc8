#! var n=9
variable "n" {
  type = number
  validation {
    condition = var.n < 5
    message   = "at most four repairs make sense"
  }
}
