//go:build !linux

package client

import (
	"errors"
	"net"
)

// receiver gives kernel timestamps; this platform has none that we use.
type receiver struct{}

func newReceiver(net.Conn) *receiver { return nil }

func (*receiver) receive([]byte, bool) (int, int64, error) {
	return 0, 0, errors.ErrUnsupported
}

func (*receiver) follow([]byte, func(int, int64) bool) error { return errors.ErrUnsupported }

func holdStamps() any { return nil }
