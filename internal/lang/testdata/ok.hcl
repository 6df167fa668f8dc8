locals { unused = 1 }
