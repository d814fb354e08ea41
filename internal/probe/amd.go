package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// amd adds AMD GPUs by amd-smi, else by the older rocm-smi; false when there are none.
func (m machine) amd(ctx context.Context, list *factList) bool {
	gpus := parseAMDSMI(m.run(ctx, "amd-smi", "static", "--asic", "--vram", "--driver", "--limit", "--bus", "--json"))
	if len(gpus) == 0 {
		gpus = parseROCmSMI(m.run(ctx, "rocm-smi", "--showproductname", "--showmeminfo", "vram", "--showdriverversion", "--showmaxpower", "--json"))
	}
	if len(gpus) == 0 {
		return false
	}
	list.text("hardware", "type", "Discrete GPU")
	addGPUs(list, gpus)
	return true
}

// quantity is a number that amd-smi writes bare, as text, or as {"value": 750, "unit": "W"}; "N/A" is 0.
type quantity struct {
	value float64
	unit  string
}

func (q *quantity) UnmarshalJSON(data []byte) error {
	var pair struct {
		Value json.RawMessage `json:"value"`
		Unit  string          `json:"unit"`
	}
	if json.Unmarshal(data, &pair) == nil && pair.Value != nil {
		data, q.unit = pair.Value, pair.Unit
	}
	q.value = leadingNumber(strings.Trim(string(data), `"`))
	return nil
}

type amdGPU struct {
	ASIC struct {
		Name string `json:"market_name"`
	} `json:"asic"`
	VRAM struct {
		Size quantity `json:"size"` // MB, by which MiB is meant
	} `json:"vram"`
	Driver struct {
		Version string `json:"version"`
	} `json:"driver"`
	Limit struct {
		Socket quantity `json:"socket_power"`
		Max    quantity `json:"max_power"`
	} `json:"limit"`
	Bus struct {
		Width   quantity `json:"max_pcie_width"`
		Version string   `json:"pcie_interface_version"` // "Gen 5"
	} `json:"bus"`
}

// parseAMDSMI reads `amd-smi static --json`: a list, in newer versions inside {"gpu_data": […]}.
func parseAMDSMI(data []byte) []gpu {
	var wrapped struct {
		GPUs []amdGPU `json:"gpu_data"`
	}
	cards := []amdGPU{}
	if lenient(data, &wrapped) {
		cards = wrapped.GPUs
	} else if json.Unmarshal(data, &cards) != nil {
		return nil
	}
	var gpus []gpu
	for _, c := range cards {
		name := available(c.ASIC.Name)
		if name == "" {
			continue
		}
		g := gpu{name: strings.TrimPrefix(name, "AMD "), memoryMiB: c.VRAM.Size.value, driver: available(c.Driver.Version)}
		if g.powerW = c.Limit.Socket.value; g.powerW == 0 {
			g.powerW = c.Limit.Max.value
		}
		if gen, ok := strings.CutPrefix(c.Bus.Version, "Gen "); ok && c.Bus.Width.value > 0 {
			g.pcie = fmt.Sprintf("%s.0 x%g", strings.TrimSpace(gen), c.Bus.Width.value)
		}
		gpus = append(gpus, g)
	}
	return gpus
}

// parseROCmSMI reads `rocm-smi --json`: an object a card, and one for the system. The names of its fields differ between
// versions in case alone.
func parseROCmSMI(data []byte) []gpu {
	var all map[string]map[string]any
	if json.Unmarshal(data, &all) != nil {
		return nil
	}
	field := func(card map[string]any, names ...string) string {
		for _, name := range names {
			for _, key := range slices.Sorted(maps.Keys(card)) {
				if text, ok := card[key].(string); ok && strings.EqualFold(key, name) && available(text) != "" {
					return available(text)
				}
			}
		}
		return ""
	}
	var gpus []gpu
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !strings.HasPrefix(key, "card") {
			continue
		}
		card := all[key]
		// The model is often a bare number ("0x740c").
		name := field(card, "Card Series", "Device Name", "Card Model")
		if name == "" || strings.HasPrefix(name, "0x") {
			continue
		}
		bytes, _ := strconv.ParseFloat(field(card, "VRAM Total Memory (B)"), 64)
		gpus = append(gpus, gpu{
			name:      strings.TrimPrefix(name, "AMD "),
			memoryMiB: bytes / (1 << 20),
			driver:    field(all["system"], "Driver version"),
			powerW:    leadingNumber(field(card, "Max Graphics Package Power (W)")),
		})
	}
	return gpus
}
