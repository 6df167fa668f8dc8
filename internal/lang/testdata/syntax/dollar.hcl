locals {
  a = $HOME
}
