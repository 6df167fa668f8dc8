[pipeline]
name = "notes"
