package main

import (
	"strings"
	"testing"

	"speedmatrix/internal/probe"
)

// What a server says of itself reaches the terminal without control characters, and without our key.
func TestDescribeIsSafe(t *testing.T) {
	var target target
	target.secrets.key = "sk-0123456789abcdef-secret"
	target.server = &probe.Server{Engine: probe.Generic, Model: "m\x1b]0;x\x07\u202e " + target.secrets.key}
	got := target.describe()
	if strings.ContainsAny(got, "\x1b\x07\u202e\n") || strings.Contains(got, target.secrets.key) || !strings.HasPrefix(got, "generic, model m") {
		t.Errorf("the server is described as %q", got)
	}
}
