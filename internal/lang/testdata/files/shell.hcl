m = 1
export N=2
