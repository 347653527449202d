// Package proto holds the public API (weir/v1) and the private wire format
// (wire/v1). The generated code is committed; `make generate` renews it and
// `make check` fails when it is not current.
package proto

//go:generate ../test/tools/generate
