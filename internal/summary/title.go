package summary

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"speedmatrix/internal/event"
)

const maxTitleRunes = 120 // of each part

// title names a run by what was measured: "gemma-4-E2B-it on RTX PRO 6000 Blackwell Server Edition 96GB", with "2 x " before
// a GPU that there are two of. A machine without a GPU goes by its CPU. A run of the simulated engine says so: by the name of its
// "machine" when that does, else first.
func title(run *event.Run) string {
	text := modelName(run)
	if where := machine(run); where != "" {
		text += " on " + where
	}
	const simulated = "Simulated engine"
	if run.Simulated() && !strings.Contains(text, simulated) {
		text = simulated + ": " + text
	}
	return text
}

// modelName returns the model's id without its owner, or the name it was served under.
func modelName(run *event.Run) string {
	id := strings.TrimRight(clean(run.Model.Text("id")), "/")
	if name := id[strings.LastIndexByte(id, '/')+1:]; name != "" {
		return name
	}
	if name := clean(run.Model.Text("served")); name != "" {
		return name
	}
	return "unknown model"
}

// machine returns the GPU with count and memory, else the CPU, else "".
func machine(run *event.Run) string {
	gpu := clean(run.Hardware.Text("gpu"))
	if gpu == "" {
		return clean(run.Hardware.Text("cpu"))
	}
	if n, ok := run.Hardware.Number("gpu_count"); ok && n > 1 {
		gpu = fmt.Sprintf("%.0f x %s", n, gpu)
	}
	if gb, ok := run.Hardware.Number("vram_gb"); ok && gb > 0 && gb < 1e9 {
		gpu += " " + strconv.FormatFloat(gb, 'f', -1, 64) + "GB"
	}
	return gpu
}

// clean makes text from a file fit for one line: no control or format characters, single spaces, bounded.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxTitleRunes {
		text = string(runes[:maxTitleRunes-1]) + "…"
	}
	return text
}
