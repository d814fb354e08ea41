package main

import "runtime/debug"

// release is the version that this source will be released as.
const release = "0.1.0"

// version is the release with the commit it was built from, where the build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return release + " (" + s.Value[:12] + ")"
		}
	}
	return release
}
