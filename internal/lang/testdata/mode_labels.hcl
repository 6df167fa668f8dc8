mode "quality" { value = labels(gate.accept, "quality", { contract = "c", model = "m" }) >= 30 ? "apply" : "shadow" }
mode "misspelt" { value = labels(gate.acept, "quality", { contract = "c", model = "m" }) >= 30 ? "apply" : "shadow" }
