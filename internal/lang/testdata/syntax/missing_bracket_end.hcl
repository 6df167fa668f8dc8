locals {
  a = [1,