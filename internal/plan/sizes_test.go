package plan_test

import (
	"slices"
	"strings"
	"testing"

	"speedmatrix/internal/plan"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int{"1": 1, "8192": 8192, "8K": 8192, "8k": 8192, " 128K ": 131072, "16384K": 1 << 24, "1000": 1000} {
		if got, err := plan.ParseSize(s); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", s, got, err, want)
		}
	}
	for s, mend := range map[string]string{
		"8Q": "8192 or 8K", "": "8192 or 8K", "K": "8192 or 8K", "1.5K": "8192 or 8K", "-1": "8192 or 8K", "-8K": "8192 or 8K", "+8": "8192 or 8K",
		"0x10": "8192 or 8K", "8 K": "8192 or 8K", "8M": "8192 or 8K", "1_000": "8192 or 8K",
		"0": "at least 1", "0K": "at least 1",
		"16385K": "smaller", "16777217": "smaller", "99999999999999999999": "smaller", "18446744073709551615K": "smaller",
	} {
		_, err := plan.ParseSize(s)
		if err == nil || !strings.Contains(err.Error(), mend) || !strings.Contains(err.Error(), `"`+s+`"`) {
			t.Errorf("%q: error %v, want it quoted and %q", s, err, mend)
		}
	}
}

func TestParseLists(t *testing.T) {
	if got, err := plan.ParseSizes("8K, 16K,1000"); err != nil || !slices.Equal(got, []int{8192, 16384, 1000}) {
		t.Errorf("sizes: %d, %v", got, err)
	}
	if got, err := plan.ParseCounts("1, 2,-3"); err != nil || !slices.Equal(got, []int{1, 2, -3}) {
		t.Errorf("counts: %d, %v", got, err)
	}
	_, err := plan.ParseSizes("8Q,,16K,0")
	for _, want := range []string{`"8Q"`, "empty", `"0"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want all mistakes: %s is missing", err, want)
		}
	}
	if _, err := plan.ParseCounts("1,x"); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("counts 1,x: %v", err)
	}
	if _, err := plan.ParseCounts(strings.Repeat("1,", 1000) + "1"); err == nil {
		t.Error("a thousand entries: want an error")
	}
}

func TestLabel(t *testing.T) {
	for tokens, want := range map[int]string{8192: "8K", 125952: "123K", 131072: "128K", 131007: "131007", 512: "512", 1000: "1000", 0: "0", 1 << 20: "1024K"} {
		if got := plan.Label(tokens); got != want {
			t.Errorf("%d: %q, want %q", tokens, got, want)
		}
	}
	if got := plan.Labels([]int{512, 1024}); got != "512,1K" {
		t.Errorf("labels %q", got)
	}
}

func FuzzParseSizes(f *testing.F) {
	for _, s := range []string{"8K,16K", "0", "8Q", ",", "99999999999999999999K", "-1", "1,2,4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sizes, err := plan.ParseSizes(s)
		if err != nil {
			return
		}
		for _, v := range sizes {
			if v < 1 || v > plan.MaxTokens {
				t.Fatalf("%q: size %d", s, v)
			}
		}
		again, err := plan.ParseSizes(plan.Labels(sizes))
		if err != nil || !slices.Equal(again, sizes) {
			t.Fatalf("%q: %d is labelled %s, which reads as %d, %v", s, sizes, plan.Labels(sizes), again, err)
		}
	})
}
