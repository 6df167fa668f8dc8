locals {
  a = "\d+"
}
