package main

import "runtime/debug"

// release is the version that this source will be released as; `make release` checks it against the tag.
const release = "0.1.0"

// version is the release with the commit it was built from, where the build knows it.
func version() string {
	if c := commit(); c != "" {
		return release + " (" + c + ")"
	}
	return release
}

// commit is the first 12 digits of the commit that this program was built from, "" when the build does not tell.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return ""
}
