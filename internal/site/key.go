package site

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"strconv"

	"speedmatrix/internal/pack"
	"speedmatrix/internal/page"
)

// keyOf is a digest of parts; no two lists of parts have the same.
func keyOf(parts []string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + ":"))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// baseKey names everything that all pages depend on: the program, every template and override, and the site's configuration.
func baseKey(o Options, s page.Site) (string, error) {
	config, err := pack.Marshal(s)
	if err != nil {
		return "", err
	}
	parts := []string{o.Program, string(config)}
	for _, files := range []fs.FS{o.Templates, o.Overrides} {
		if files == nil {
			continue
		}
		parts = append(parts, "layer")
		err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := fs.ReadFile(files, name)
			parts = append(parts, name, string(b))
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return keyOf(parts), nil
}
