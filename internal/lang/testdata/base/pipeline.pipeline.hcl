pipeline "cards" {}
