package event

// Facts is an open table of what is known about a thing: lower_snake keys; values are string, int64, float64 or bool.
type Facts map[string]any

// Source says where a fact came from.
type Source string

const (
	FromServer Source = "server" // the inference server said so
	FromProbe  Source = "probe"  // read from the machine that runs it, or from its process
	FromUser   Source = "user"   // flags or --info; wins over the others
)

// Fact is one entry on its way into a Run: table is hardware | engine | model | server | host.
type Fact struct {
	Table  string
	Key    string
	Value  any
	Source Source
}

// Keys that pages know by name. Others are shown as they are.
//
//	hardware: type gpu gpu_count vram_gb driver power_limit_w pcie cpu cores ram_gb os kernel governor
//	engine:   name version quantization backend repository build commit attention_backend tp simulated profile
//	model:    served id revision dtype quantization parameters
//	server:   url_host_kind max_running_requests
//	host:     cpu cores ram_gb os kernel go clock same_machine
const (
	KeySimulated = "simulated" // engine.simulated = true: every page says "Simulated engine"
)

// Simulated reports whether the run was measured against the built-in simulated engine.
func (r *Run) Simulated() bool {
	v, _ := r.Engine[KeySimulated].(bool)
	return v
}

// Text returns the fact's value when it is a non-empty string, else "".
func (f Facts) Text(key string) string {
	s, _ := f[key].(string)
	return s
}

// Number returns the fact as a number; false when absent or not numeric.
func (f Facts) Number(key string) (float64, bool) {
	switch v := f[key].(type) {
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
