locals {
  a = 1;
}
