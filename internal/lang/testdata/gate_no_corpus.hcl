#! without gate codes
gate "accept" { candidate = item }
