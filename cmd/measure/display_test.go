package main

import (
	"testing"
	"time"
)

func TestWrap(t *testing.T) {
	check := func(text string, width int, want string) {
		t.Helper()
		if got := wrap(text, width); got != want {
			t.Errorf("wrap(%q, %d) = %q, want %q", text, width, got, want)
		}
	}
	check("a few words", 80, "a few words")
	check("a few words", 6, "a few\n  words")
	check("averylongword b", 5, "averylongword\n  b")
	check("", 10, "")
}

func TestTimeLeft(t *testing.T) {
	d := &display{left: time.Minute}
	if got := d.timeLeft(10 * time.Second); got != 50*time.Second {
		t.Errorf("before the first pass: %s left, want the plan's 50s", got)
	}
	d.passed, d.left = 20*time.Second, 40*time.Second
	if got := d.timeLeft(10 * time.Second); got != 20*time.Second {
		t.Errorf("passes twice as fast as planned: %s left, want 20s", got)
	}
}

func TestCut(t *testing.T) {
	if got := cut("8K x 4 läuft", 9); got != "8K x 4 lä" {
		t.Errorf("cut = %q, want characters, not bytes", got)
	}
}
