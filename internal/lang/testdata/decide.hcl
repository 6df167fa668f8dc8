stage "sort" {
  decide {
    rule "far" {
      if      = item.level == "esay"
      outcome = "lft"
    }
    rule "far" {
      if      = item.id
      outcome = "left"
    }
    finding "odd" {
      if     = outcome == "left"
      code   = failure.R_LENGTH
      triage = "revue"
      figure = item.id
    }
  }
  outcomes = ["left", "right"]
  retry {}
}
route "sort" {
  from = stage.sort
  to   = stage.write
}
