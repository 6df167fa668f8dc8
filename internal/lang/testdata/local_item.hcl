locals { x = item.cat }
