package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/plan"
	"speedmatrix/internal/probe"
	"speedmatrix/internal/redact"
	"speedmatrix/internal/unit"
)

// planCommand is `measure plan`: what run would do, without load.
func planCommand(ctx context.Context, args []string, p process) error {
	o, err := parseOptions("plan", args, p.stdout)
	if err != nil {
		return err
	}
	t, err := o.target(ctx, p)
	if err != nil {
		return err
	}
	printPlan(p.stdout, t)
	t.printNotes(p.stderr)
	if why := reasonToAsk(t); why != "" {
		fmt.Fprintf(p.stdout, "\nmeasure run will ask before it starts (or wants --yes): %s.\n", why)
	}
	return nil
}

// printPlan prints every cell with what it needs and how long it should take.
func printPlan(w io.Writer, t target) {
	fmt.Fprintf(w, "%s\n\n", t.describe())
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "phase\tcontext\trequests\tneeds\texpected\tstatus\t ")
	for _, r := range t.plan.Table() {
		status, expected := "to run", unit.About(r.Expected)
		if r.PrefillUnknown {
			expected += " + prefill"
		}
		if r.Status != event.Ran {
			status, expected = string(r.Status), unit.Dash
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\t%s\t  %s\n", r.Phase, r.Label, r.Concurrency, unit.Count(&r.NeededTokens), expected, status, r.Reason)
	}
	_ = tw.Flush() // its writer's errors are those of w, which nothing could be done about
	fmt.Fprintf(w, "\n%s\n", t.plan.Short(t.expectation()))
}

// describe is the server in one line. What the server says of itself is shown without control characters and secrets.
func (t target) describe() string {
	var b strings.Builder
	said := func(s string) string { return redact.New(redact.Options{}, t.secrets.values()...).Text(probe.Clean(s)) }
	fmt.Fprintf(&b, "%s, model %s", t.server.Engine, said(t.server.Model))
	if t.server.Simulated != "" {
		fmt.Fprintf(&b, " (simulated engine, profile %s)", said(t.server.Simulated))
	}
	amount := func(name string, v *int64, source string) {
		if v == nil {
			fmt.Fprintf(&b, "; %s unknown", name)
			return
		}
		fmt.Fprintf(&b, "; %s %s tokens (%s)", name, unit.Count(v), source)
	}
	amount("KV cache", t.plan.Limits.CapacityTokens, t.plan.Limits.CapacitySource)
	amount("limit", t.plan.Limits.Context, t.plan.Limits.ContextSource)
	return b.String()
}

// printNotes tells what could not be found out about the server, and how to mend it.
func (t target) printNotes(w io.Writer) {
	for _, note := range t.server.Notes {
		fmt.Fprintln(w, "measure: note:", note)
	}
}

func (t target) expectation() plan.Expectation {
	return plan.Estimate(t.plan, t.plan.Config.PrefillTokS)
}

// askAbove is the expected length of a run from which the user is asked.
const askAbove = time.Hour

// reasonToAsk says why a run should not begin without a yes, "" when there is none.
func reasonToAsk(t target) string {
	e := t.expectation()
	if !privateHost(t.url) {
		return fmt.Sprintf("%s is not a private host, and at least %s prompt tokens would be sent to it", t.url.Hostname(), unit.Count(&e.SentTokens))
	}
	if e.Duration > askAbove {
		return "it is expected to take " + unit.About(e.Duration)
	}
	return ""
}

// privateHost reports whether a URL's host is this machine or one of a private network. A name counts when it
// has no dot or ends like a local one, or when all its addresses are private.
func privateHost(u *url.URL) bool {
	host := u.Hostname()
	if ip := net.ParseIP(host); ip != nil {
		return privateIP(ip)
	}
	if !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") || strings.HasSuffix(host, ".lan") {
		return true
	}
	ips, err := net.LookupIP(host)
	if err != nil {
		return false
	}
	for _, ip := range ips {
		if !privateIP(ip) {
			return false
		}
	}
	return len(ips) > 0
}

func privateIP(ip net.IP) bool { return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() }
