locals { a = "café" }
