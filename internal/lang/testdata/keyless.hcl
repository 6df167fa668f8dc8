#! keyless
# Nothing is called by validate, so a missing key is only warned of.
locals { unused = 1 }
