package staging

import "unsafe"

// The only unsafe code of the package: mapped bytes seen as slots.

func sizeOf[T any]() uintptr {
	var zero T
	return unsafe.Sizeof(zero)
}

func viewAs[T any](mem []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n)
}
