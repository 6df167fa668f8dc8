#! without gate codes
gate "accept" {
  candidate = { card = item }
  bucket    = item.cat
  hold      = stage.wrte
  undecided = "accept"
  rejections = "/tmp/rejections.jsonl"
  corpus "json" {}
}
