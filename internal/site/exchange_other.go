//go:build !linux && !darwin

package site

import "errors"

// exchange is not known on this system.
func exchange(_, _ string) error { return errors.ErrUnsupported }
