package page

import (
	"fmt"
	"math"
	"strings"
)

// HeatSteps is the number of levels of the decode matrix's colour scale.
const HeatSteps = 9

// Scale is the heat scale of one theme: a background for each level, and the ink of all text on it.
type Scale struct {
	Ink        RGB
	Background [HeatSteps]RGB
}

// RGB is a colour of the sRGB space, 0..255 each.
type RGB struct{ R, G, B uint8 }

func (c RGB) String() string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// heatHue is the one hue of the scale, in degrees of OKLCH: a blue that every kind of colour vision tells from grey.
const heatHue = 240

// LightHeat runs from nearly the page's white to a middle blue; dark ink stays readable on all of it.
func LightHeat() Scale {
	return heat(RGB{0x12, 0x16, 0x1c}, 0.975, 0.745, 0.008, 0.125)
}

// DarkHeat runs from nearly the page's black to a middle blue under light ink.
func DarkHeat() Scale {
	return heat(RGB{0xf3, 0xf6, 0xfa}, 0.235, 0.47, 0.012, 0.115)
}

// heat interpolates lightness and chroma linearly in OKLCH.
func heat(ink RGB, l0, l1, c0, c1 float64) Scale {
	s := Scale{Ink: ink}
	for i := range s.Background {
		t := float64(i) / (HeatSteps - 1)
		s.Background[i] = oklch(l0+(l1-l0)*t, c0+(c1-c0)*t, heatHue)
	}
	return s
}

// heatLevel places v on the scale by its logarithm between low and high: rates of a matrix span orders of magnitude.
func heatLevel(v, low, high float64) int {
	if !(v > 0) || !(low > 0) || !(high > low) {
		return HeatSteps / 2
	}
	t := math.Log(v/low) / math.Log(high/low)
	return min(HeatSteps-1, max(0, int(t*HeatSteps)))
}

// HeatCSS is the style of the classes h0 to h8, for both themes.
func HeatCSS() string {
	var b strings.Builder
	write := func(indent string, s Scale) {
		for i, c := range s.Background {
			fmt.Fprintf(&b, "%s.h%d { background-color: %s; color: %s }\n", indent, i, c, s.Ink)
		}
	}
	write("", LightHeat())
	b.WriteString("@media screen and (prefers-color-scheme: dark) {\n")
	write("  ", DarkHeat())
	b.WriteString("}\n")
	return b.String()
}

// Contrast is the contrast ratio of WCAG 2.2, 1 to 21.
func Contrast(a, b RGB) float64 {
	la, lb := luminance(a), luminance(b)
	if la < lb {
		la, lb = lb, la
	}
	return (la + 0.05) / (lb + 0.05)
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(c RGB) float64 {
	lin := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(c.R) + 0.7152*lin(c.G) + 0.0722*lin(c.B)
}

// oklch converts lightness (0..1), chroma and hue (degrees) to sRGB, by the matrices of
// https://bottosson.github.io/posts/oklab/, clipping what lies outside.
func oklch(l, c, h float64) RGB {
	a, b := c*math.Cos(h*math.Pi/180), c*math.Sin(h*math.Pi/180)
	l1 := l + 0.3963377774*a + 0.2158037573*b
	m1 := l - 0.1055613458*a - 0.0638541728*b
	s1 := l - 0.0894841775*a - 1.2914855480*b
	l3, m3, s3 := l1*l1*l1, m1*m1*m1, s1*s1*s1
	gamma := func(x float64) uint8 {
		x = math.Min(1, math.Max(0, x))
		if x <= 0.0031308 {
			x *= 12.92
		} else {
			x = 1.055*math.Pow(x, 1/2.4) - 0.055
		}
		return uint8(math.Round(x * 255))
	}
	return RGB{
		gamma(4.0767416621*l3 - 3.3077115913*m3 + 0.2309699292*s3),
		gamma(-1.2684380046*l3 + 2.6097574011*m3 - 0.3413193965*s3),
		gamma(-0.0041960863*l3 - 0.7034186147*m3 + 1.7076147010*s3),
	}
}
