// Command sitegen turns a folder of measured runs into a static website.
//
//	sitegen [build] --results results --templates templates --out site
//	sitegen check results/<run>…
//	sitegen serve
//	sitegen diff results/<run> results/<run>
//
// Exit codes: 0 done, 1 failed (one line an error), 2 usage.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	// Runs come and go as large blocks: with the default the collector would take a tenth of the time.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(400 << 20)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(report(os.Stderr, run(ctx, os.Args[1:], os.Stdout, os.Stderr)))
}
