package metric

import "strings"

// WarningID names a kind of caveat.
type WarningID string

// The warnings, in the order of Warnings.
const (
	FewRestarts     WarningID = "few-restarts"
	FewSamples      WarningID = "few-samples"
	VoidSamples     WarningID = "void-samples"
	ColdCached      WarningID = "cold-cached"
	NoPromptCount   WarningID = "no-prompt-count"
	PromptOff       WarningID = "prompt-off"
	ShortWindow     WarningID = "short-window"
	Drift           WarningID = "drift"
	FewerActive     WarningID = "fewer-active"
	TokensEstimated WarningID = "tokens-estimated"
	MixedSources    WarningID = "mixed-token-sources"
	SharedArrivals  WarningID = "merged-arrivals"
	Looped          WarningID = "looped"
	EarlyStops      WarningID = "early-stops"
	FailedStreams   WarningID = "failed-streams"
	FailedAfter     WarningID = "failed-after-window"
	ProcessClock    WarningID = "process-clock"
	AlsoClientBound WarningID = "also-client-bound"
	CellInterrupted WarningID = "cell-interrupted"

	Unpinned       WarningID = "unpinned-revision"
	AllowBusy      WarningID = "allow-busy"
	DroppedFields  WarningID = "dropped-fields"
	RunInterrupted WarningID = "interrupted"
	Resumed        WarningID = "resumed"
)

// Warning is a kind of caveat. Words in braces in its sentence stand for the figures of a case.
type Warning struct {
	ID       WarningID
	Scope    Scope  // OfCell or OfRun
	Sentence string // "only {n} of the {wanted} …"
	Slug     string // anchor on the methodology page
}

// Warnings returns every kind of caveat, in the order in which pages show them.
func Warnings() []Warning {
	all := []Warning{
		{FewRestarts, OfCell, "TTFT rests on {n} restart(s); 6 or more are wanted.", ""},
		{FewSamples, OfCell, "The row rests on {n} cold sample(s); 3 are wanted.", ""},
		{VoidSamples, OfCell, "{n} sample(s) do not count: the server took their prompts from its cache.", ""},
		{ColdCached, OfCell, "The server took up to {n} tokens of a cold prompt from its cache.", ""},
		{NoPromptCount, OfCell, "The server did not say how many prompt tokens it read, so that there is no prefill rate.", ""},
		{PromptOff, OfCell, "Prompts had {n} tokens where {wanted} were aimed at ({share} off; up to 0.5 % is wanted).", ""},
		{ShortWindow, OfCell, "{n} of {streams} streams brought fewer than 100 tokens within the window, the slowest {least}: the rate may be off by up to one step.", ""},
		{Drift, OfCell, "Output drifted within the window: its second half brought {share} than the first; up to 5 % is steady.", ""},
		{FewerActive, OfCell, "On average {n} of {wanted} requests were active.", ""},
		{TokensEstimated, OfCell, "The tokens of {n} of {of} requests are an estimate: the server did not count them.", ""},
		{MixedSources, OfCell, "Tokens were counted in more than one way: {list}.", ""},
		{SharedArrivals, OfCell, "{share} of the chunks arrived together with the chunk before: something between the server and this program may hold them back.", ""},
		{Looped, OfCell, "{n} of {of} requests fell into exact repetition; speculation and caches make such text faster than real text.", ""},
		{EarlyStops, OfCell, "{n} of {of} requests ended before the length asked for; their streams started again at once.", ""},
		{FailedStreams, OfCell, "{n} of {of} requests failed and were replaced: {list}.", ""},
		{FailedAfter, OfCell, "{n} request(s) failed after the window; no figure but TTFT comes from that time.", ""},
		{ProcessClock, OfCell, "Arrivals were stamped when this program read them, not by the kernel.", ""},
		{AlsoClientBound, OfCell, "The measuring program was a bottleneck as well: {reason}", ""},
		{CellInterrupted, OfCell, "The run was interrupted in this cell; its window is shorter than asked.", ""},
		{Unpinned, OfRun, "The model's revision {revision} is a name that can move, not a commit: the same run may measure other weights later.", ""},
		{AllowBusy, OfRun, "The server was not idle when the run began; someone else's load may be in the figures.", ""},
		{DroppedFields, OfRun, "The server refused these optional request fields, which were left out: {list}.", ""},
		{RunInterrupted, OfRun, "The run was interrupted; cells that it did not reach are marked.", ""},
		{Resumed, OfRun, "The run was taken up again {n} time(s); the server may have changed in between.", ""},
	}
	for i := range all {
		all[i].Slug = "warning-" + string(all[i].ID)
	}
	return all
}

// WarningText returns the sentence of a warning with its figures: pairs of a word in braces and what stands for it. False
// for an id that is not in Warnings.
func WarningText(id WarningID, pairs ...string) (string, bool) {
	for _, w := range Warnings() {
		if w.ID == id {
			return fill(w.Sentence, pairs), true
		}
	}
	return "", false
}

// fill replaces "{word}" by its value, in one pass, so that a value is never read as a word. "(s)" becomes "s", or nothing
// after a figure of exactly 1.
func fill(sentence string, pairs []string) string {
	args := make([]string, 0, 2*len(pairs)+2)
	plural := "s"
	for i := 0; i+1 < len(pairs); i += 2 {
		args = append(args, "{"+pairs[i]+"}", pairs[i+1])
		if pairs[i] == "n" && pairs[i+1] == "1" {
			plural = ""
		}
	}
	return strings.NewReplacer(append(args, "(s)", plural)...).Replace(sentence)
}
