//go:build !unix

package site

// lock has nothing to hold a folder by: one that is open cannot be renamed there.
func lock(string) *folderLock { return &folderLock{} }
