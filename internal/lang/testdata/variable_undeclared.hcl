#! var nn=1
