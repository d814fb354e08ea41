package site_test

import (
	"testing"

	"speedmatrix/internal/page/seedtest"
)

func TestSyntheticSiteHasNoDeadLink(t *testing.T) {
	opt, cfg := options(t)
	one, two := seedtest.Synthetic(), seedtest.Run()
	two.Facts.ID = "20261130t101500z-simulated"
	two.Facts.Engine["simulated"] = true
	two.Facts.Engine["profile"] = "seed"
	if err := build(t, opt, cfg, one, two); err != nil {
		t.Fatal(err)
	}
}
