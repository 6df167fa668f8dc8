#! var n=many
#! var list=a
#! var limits={ low = "x" }
#! env PENSTOCK_VAR_big=1e400
variable "n" { type = number }
variable "list" { type = list(string) }
variable "limits" { type = object({ low = number, high = optional(number) }) }
variable "big" { type = number }
variable "typo" { type = strng }
variable "quoted" { type = "string" }
variable "odd" { type = list(strng) }
variable "of" { default = var.high }
variable "low" {
  default = 3
  validation {
    condition = var.low < var.high
    message   = "low must be below high"
  }
  validation {
    condition = var.low < local.most
    message   = "low must be below most"
  }
}
variable "high" { default = 2 }
locals { most = 9 }
