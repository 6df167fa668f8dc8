#! varfile list.json
