package summary

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"speedmatrix/internal/event"
	"speedmatrix/internal/metric"
	"speedmatrix/internal/stat"
)

// storedStatus reports whether measure alone knew what became of the cell: such a status is kept, with its reason, and the cell
// has no figures. The others follow from the events, whatever a file says.
func storedStatus(s event.Status) bool {
	switch s {
	case event.OverCapacity, event.OverLength, event.Unready, event.Skipped, event.NotRun:
		return true
	}
	return false
}

func (b *builder) prefillStatus(c *Cell, attempts []attempt, requests, failed, void int) {
	switch {
	case tooManyFailed(attempts, failed, requests):
		c.fail(requests)
	case c.Samples > 0:
		c.Status = event.Valid
	case b.notReached(attempts):
		c.Status, c.Reason = event.NotRun, "the run was interrupted before this row had a sample"
	case void > 0:
		c.Status, c.Reason = event.Failed, fmt.Sprintf("none of %d samples was cold: the server took their prompts from its cache", void)
	case failed > 0:
		c.fail(requests)
	default:
		c.Status, c.Reason = event.Failed, "no sample is recorded"
	}
}

// decodeStatus derives the status of a decode cell; the first that applies stands.
func (b *builder) decodeStatus(c *Cell, attempts []attempt, measured []*attempt, requests int) {
	clientBound := b.clientBound(c, measured)
	switch {
	case tooManyFailed(attempts, *c.FailedRequests, requests):
		c.fail(requests)
	case len(measured) == 0 && b.notReached(attempts):
		c.Status, c.Reason = event.NotRun, "the run was interrupted before this cell's window had been measured"
	case len(measured) == 0:
		c.Status, c.Reason = event.Failed, "no measured window is recorded"
	case *c.OutputTokens == 0:
		c.Status, c.Reason = event.Failed, "no token arrived within the window"
	case stopped(attempts, event.StopQueued):
		c.Status = event.Queued
		c.RanRequests = *c.ActiveRequests
		c.Reason = fmt.Sprintf("the server ran %s of %d requests at once", ranText(c.RanRequests, c.Concurrency), c.Concurrency)
		if clientBound != "" {
			c.warn(metric.AlsoClientBound, "reason", clientBound)
		}
	case clientBound != "":
		c.Status, c.Reason = event.ClientBound, clientBound
	default:
		c.Status = event.Valid
	}
}

// fail sets the status Failed with the kinds and counts as its reason.
func (c *Cell) fail(requests int) {
	c.Status = event.Failed
	c.Reason = fmt.Sprintf("%d of %d requests failed: %s", *c.FailedRequests, requests, countsText(c.Failures))
	if *c.FailedRequests == 0 {
		c.Reason = "its streams failed to go on"
	}
}

// tooManyFailed is the rule of METRICS: above 1 % of the cell's requests and at least two, or measure gave the cell up.
func tooManyFailed(attempts []attempt, failed, requests int) bool {
	return stopped(attempts, event.StopFailed) ||
		failed >= 2 && float64(failed) > metric.MaxFailedShare*float64(requests)
}

func stopped(attempts []attempt, why event.Stop) bool {
	for i := range attempts {
		if attempts[i].pass.Stop == why {
			return true
		}
	}
	return false
}

func interrupted(attempts []attempt) bool { return stopped(attempts, event.StopInterrupted) }

// notReached reports whether a cell without figures lacks them because the run stopped.
func (b *builder) notReached(attempts []attempt) bool {
	return len(attempts) == 0 || interrupted(attempts) || b.run.State == event.Interrupted
}

// ranText prints the concurrency reached as a whole number, unless that would read as all of them.
func ranText(ran float64, asked int) string {
	if whole := math.Round(ran); whole < float64(asked) {
		return strconv.Itoa(int(whole))
	}
	return strconv.FormatFloat(ran, 'f', 2, 64)
}

// failedOf returns the requests that failed.
func failedOf(requests []*event.Request) []*event.Request {
	var out []*event.Request
	for _, r := range requests {
		if r.Outcome.Failed() {
			out = append(out, r)
		}
	}
	return out
}

// failedInTime returns the requests of the load that failed up to the end of their pass's window, and how many failed
// later: nothing of the probe phase counts but its TTFTs.
func failedInTime(attempts []attempt) (failed []*event.Request, later int) {
	for i := range attempts {
		a := &attempts[i]
		for _, r := range failedOf(a.requests) {
			ended := r.StartUS
			if r.EndUS != nil {
				ended += *r.EndUS
			}
			if r.Stage == event.Probe || a.measured() && ended > a.window.EndUS {
				later++
				continue
			}
			failed = append(failed, r)
		}
	}
	return failed, later
}

// clientBound says in a sentence why the measuring program was the bottleneck in one of the passes; empty when it was
// not, or when the samples that would tell are missing.
func (b *builder) clientBound(c *Cell, measured []*attempt) string {
	for _, a := range measured {
		if c.Clock == event.Process {
			if why := lagged(a, c.BetweenTokensMS); why != "" {
				return why
			}
			continue
		}
		if cpu, ok := a.health.cpuShare.value(); ok && cpu > metric.MaxCPUShare {
			return fmt.Sprintf("the client used %s of the cores it may use (up to 85 %% is sound)", percent(cpu))
		}
		usual := calibratedMerge(b.run.Calibration, c.Concurrency)
		if merged, ok := a.health.merged.value(); ok && merged-usual > metric.MaxMergedShare {
			return fmt.Sprintf("%s of the client's reads merged arrivals of one stream, %s in calibration (up to 5 %% more is sound)",
				percent(merged), percent(usual))
		}
	}
	return ""
}

// lagged is the rule for process stamps. Samples hold the p99 of each second; their median stands for the window's, since
// one bad second of thirty does not make a bad window.
func lagged(a *attempt, betweenMS *float64) string {
	lag, ok := stat.Median(a.health.lagP99US)
	bound := float64(metric.MaxLagUS)
	if betweenMS != nil {
		bound = max(bound, metric.MaxLagShare*1000**betweenMS)
	}
	if !ok || lag <= bound {
		return ""
	}
	return fmt.Sprintf("the client's reads lagged by %.1f ms in the 99th percentile (up to %.1f ms is sound)", lag/1000, bound/1000)
}

// calibratedMerge returns the share of merged reads that calibration showed at the number of streams closest to c; 0
// without calibration.
func calibratedMerge(calibration []event.Calibration, c int) float64 {
	best, share := math.Inf(1), 0.0
	for _, cal := range calibration {
		distance := math.Abs(float64(cal.Streams) - float64(c))
		if cal.Clock != event.Process && distance < best && cal.MergedShare >= 0 && cal.MergedShare <= 1 {
			best, share = distance, cal.MergedShare
		}
	}
	return share
}

// countsText prints failures as "2 reset, 1 stalled".
func countsText(counts []Count) string {
	parts := make([]string, len(counts))
	for i, c := range counts {
		parts[i] = strconv.Itoa(c.N) + " " + string(c.Kind)
	}
	return strings.Join(parts, ", ")
}

// percent prints a share as "5.6 %".
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

func itoa(n int) string { return strconv.Itoa(n) }
