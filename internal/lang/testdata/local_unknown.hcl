locals {
  schemas = "schemas"
  x = local.schema
}
