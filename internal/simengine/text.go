package simengine

import "strings"

// words is what the engine says: words of one token each.
const words = `
the of and to in is you that it he was for on are as with his they I at be this have from or one had by word but
not what all were we when your can said use an each she do how if will up out many then them so some her make like
him into time has look two more go see way may part over new take only work know year live me back give most very
name good man our just form help low line turn much mean move same tell does set want air well also play end put
home read hand port add even land here must big high such act why ask men went kind off need us try own late food
keep eyes last let city tree farm hard left life few open seem next walk ease both mark book mile car feet care
took eat room idea fish once base hear cut sure face main girl area rock song fire plan dark note box noun rest
able pure star rain moon wind snow sand wood iron gold blue red gray slow fast warm cold deep wide tall soft calm
wild near far west east down hill lake sea ship boat road town wall door roof step rule law king bird wolf bear
deer corn milk salt tea cup bowl desk`

// newVocabulary returns the text of each token the engine may say: a space and a word, which needs no JSON escape.
func newVocabulary() []string {
	vocabulary := strings.Fields(words)
	for i, w := range vocabulary {
		vocabulary[i] = " " + w
	}
	return vocabulary
}

// writer makes the text of one answer: words drawn by splitmix64 from a seed, so never periodic.
type writer struct {
	vocabulary []string
	state      uint64
}

// next returns the next token's text.
func (w *writer) next() string {
	w.state += 0x9e3779b97f4a7c15
	return w.vocabulary[mix(w.state)%uint64(len(w.vocabulary))]
}

// mix is splitmix64's finalizer.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// share maps a hash to [0, 1).
func share(z uint64) float64 { return float64(mix(z)>>11) / (1 << 53) }
