package site

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"speedmatrix/internal/page"
)

// assetNames lists the files that pages load. The first of a pair is the name in templates/.
var assetNames = []string{"style.css", "site.js", "compare.js", "favicon.svg", "assets/echarts.min.js"}

// licence of the chart library; it stands beside it under its plain name.
const licence = "assets/LICENSE-echarts.txt"

// assets are the loaded files with their names in the output, "assets/style.1a2b3c4d5e.css".
type assets struct {
	names map[string]string // by the name in templates/
	files map[string][]byte // by the name in the output
}

// loadAssets reads and names the assets. Their names change with their content, so that they can be cached for ever.
func loadAssets(o Options) (assets, error) {
	a := assets{names: map[string]string{}, files: map[string][]byte{}}
	for _, name := range assetNames {
		b, err := o.layered(name)
		if err != nil {
			return a, err
		}
		if name == "style.css" {
			b = append(append(b, '\n'), page.HeatCSS()...)
		}
		out := "assets/" + hashedName(path.Base(name), b)
		a.names[name], a.files[out] = out, b
	}
	b, err := o.layered(licence)
	if err != nil {
		return a, err
	}
	a.files[licence] = b
	return a, nil
}

// hashedName puts the content's hash before the extension.
func hashedName(name string, content []byte) string {
	sum := sha256.Sum256(content)
	ext := path.Ext(name)
	return fmt.Sprintf("%s.%s%s", strings.TrimSuffix(name, ext), hex.EncodeToString(sum[:])[:10], ext)
}

// url returns an asset's name in the output; a template that asks for an unknown one is a mistake.
func (a assets) url(name string) (string, error) {
	if out, ok := a.names[name]; ok {
		return out, nil
	}
	return "", fmt.Errorf("asset %q is not known: want one of %q", name, assetNames)
}
