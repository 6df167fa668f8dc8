// Package proto is the plugin protocol on the wire, generated from
// plugin.proto (see there, and docs/protocol.md). internal/host and plugins/sdk
// speak it; authors of plugins in Go use plugins/sdk instead.
package proto

//go:generate protoc -I ../.. --go_out=../.. --go_opt=module=github.com/penstock-run/penstock --go-grpc_out=../.. --go-grpc_opt=module=github.com/penstock-run/penstock plugins/proto/plugin.proto
