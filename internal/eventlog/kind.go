package eventlog

// Kind is which of a run's two parquet files a file is.
type Kind string

const (
	KindRequests Kind = "requests"
	KindSamples  Kind = "samples"
)
