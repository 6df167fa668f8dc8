locals {
  a = $(date)
}
