locals {
  a = core::
}
