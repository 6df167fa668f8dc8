failure "BAD" {}
<<<<<<< HEAD
failure "ODD" {}
=======
failure "OLD" {}
>>>>>>> other
