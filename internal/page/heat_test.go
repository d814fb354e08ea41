package page

import "testing"

// TestHeatContrast holds every text of the decode matrix readable: 4.5:1 on each level, in both themes.
func TestHeatContrast(t *testing.T) {
	for name, s := range map[string]Scale{"light": LightHeat(), "dark": DarkHeat()} {
		for i, bg := range s.Background {
			if got := Contrast(s.Ink, bg); got < 4.5 {
				t.Errorf("%s theme, level %d: %v on %v has contrast %.2f, want 4.5 or more", name, i, s.Ink, bg, got)
			}
		}
	}
}

// TestHeatStepsAreTold holds neighbouring levels apart: each is darker (light theme) or lighter (dark theme) than the one before.
func TestHeatStepsAreTold(t *testing.T) {
	light, dark := LightHeat(), DarkHeat()
	for i := 1; i < HeatSteps; i++ {
		if luminance(light.Background[i]) >= luminance(light.Background[i-1]) {
			t.Errorf("light level %d is not darker than level %d", i, i-1)
		}
		if luminance(dark.Background[i]) <= luminance(dark.Background[i-1]) {
			t.Errorf("dark level %d is not lighter than level %d", i, i-1)
		}
	}
}

func TestContrast(t *testing.T) {
	check := func(a, b RGB, want float64) {
		t.Helper()
		if got := Contrast(a, b); got < want-0.01 || got > want+0.01 {
			t.Errorf("Contrast(%v, %v) = %.3f, want %.2f", a, b, got, want)
		}
	}
	black, white := RGB{}, RGB{255, 255, 255}
	check(black, white, 21)
	check(white, black, 21)
	check(white, white, 1)
	check(RGB{0x76, 0x76, 0x76}, white, 4.54) // the well-known lightest grey that passes on white
}

func TestOklch(t *testing.T) {
	check := func(l, c, h float64, want RGB) {
		t.Helper()
		if got := oklch(l, c, h); got != want {
			t.Errorf("oklch(%v, %v, %v) = %v, want %v", l, c, h, got, want)
		}
	}
	check(1, 0, 0, RGB{255, 255, 255})
	check(0, 0, 0, RGB{})
	check(0.62796, 0.25768, 29.234, RGB{255, 0, 0}) // sRGB red
}

func TestHeatLevel(t *testing.T) {
	check := func(v, low, high float64, want int) {
		t.Helper()
		if got := heatLevel(v, low, high); got != want {
			t.Errorf("heatLevel(%v, %v, %v) = %d, want %d", v, low, high, got, want)
		}
	}
	check(1, 1, 1000, 0)
	check(1000, 1, 1000, HeatSteps-1)
	check(31.7, 1, 1000, HeatSteps/2) // the middle of the logarithmic scale
	check(5, 5, 5, HeatSteps/2)       // one cell: no scale
	check(0, 0, 5, HeatSteps/2)
}
