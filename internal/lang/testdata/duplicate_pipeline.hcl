pipeline "again" {}
