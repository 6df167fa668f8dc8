test "x" { given = [] }
