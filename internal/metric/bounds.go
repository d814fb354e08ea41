package metric

// The bounds that statuses and warnings are decided by. The sentences
// of Warnings and Statuses repeat them in words; a test holds the two together.
const (
	MinRestarts       = 6    // restarts that a decode cell's TTFT should rest on
	MinPrefillSamples = 3    // cold samples that a prefill row should rest on
	MinP90            = 10   // values below which no p90 is shown
	MinP99            = 100  // values below which no p99 is shown
	MinRepeats        = 3    // repeats from which an interval covers the noise between runs
	MinWindowTokens   = 100  // tokens that each stream should bring within the window
	MaxDrift          = 0.05 // difference of the window's halves, as a share of their mean
	MaxPromptOff      = 0.005
	MaxFailedShare    = 0.01 // of a cell's requests; one failed request is always forgiven
	MinCachedShare    = 0.9  // of the prompt; with less a request is uncached
	MaxColdCached     = 0.01 // of the prompt of a cold sample
	MaxSharedArrivals = 0.1  // chunks that share their arrival with the chunk before
	MaxCPUShare       = 0.85 // of the cores that the client may use
	MaxMergedShare    = 0.05 // of the client's reads, beyond what calibration showed
	MaxLagShare       = 0.1  // of the time between tokens
	MaxLagUS          = 1000
	MaxMissingActive  = 0.05 // of the asked concurrency; one request is always forgiven
)
