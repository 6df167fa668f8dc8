#! varfile blocks.hcl
