//go:build tools

// Package tools names promtool, so that go.mod locks what it is built from.
package tools

import _ "github.com/prometheus/prometheus/cmd/promtool"
