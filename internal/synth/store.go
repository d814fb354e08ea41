package synth

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

// Identity is what tells one synthetic run from another: any of it may be empty or zero, which keeps the run's own.
type Identity struct {
	Model, GPU, Engine, Version, Quantization string
	Started                                   time.Time
	Salt                                      string // tells runs of equal facts apart
}

// Identities are n different runs: four models, three GPUs, two engines with five versions each, one run every six hours.
func Identities(n int) []Identity {
	out := make([]Identity, n)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range out {
		out[i] = Identity{
			Model: fmt.Sprintf("nobody/synthetic-model-%d", i%4+1), GPU: fmt.Sprintf("Synthetic GPU %c", 'A'+i/4%3),
			Engine: fmt.Sprintf("synthetic-engine-%c", 'a'+i/12%2), Version: fmt.Sprintf("1.%d.0", i/24%5),
			Quantization: []string{"BF16", "FP8"}[i/120%2], Started: start.Add(time.Duration(i) * 6 * time.Hour), Salt: fmt.Sprint(i),
		}
	}
	return out
}

// apply gives run another identity.
func (d Identity) apply(run event.Run) event.Run {
	set := func(f event.Facts, key, v string) event.Facts {
		out := event.Facts{}
		for k, old := range f {
			out[k] = old
		}
		if v != "" {
			out[key] = v
		}
		return out
	}
	run.Model = set(run.Model, "id", d.Model)
	run.Hardware = set(run.Hardware, "gpu", d.GPU)
	run.Engine = set(set(set(run.Engine, "name", d.Engine), "version", d.Version), "quantization", d.Quantization)
	if !d.Started.IsZero() {
		run.Started = d.Started
	}
	run.ID = eventlog.MakeID(run.Started, run.Model.Text("id"), run.Hardware.Text("gpu"), run.Engine.Text("name"), d.Salt)
	return run
}

// Store makes a run and writes it below dir, as measure would, and returns its folder.
func Store(dir string, cfg Config, id Identity) (folder string, err error) {
	run, requests, samples := Make(cfg)
	run = id.apply(run)
	w, err := eventlog.Create(dir, run)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for i, c := range run.Cells {
		for _, p := range c.Passes {
			step := eventlog.Step{Cell: i, Repeat: p.Repeat}
			if err := w.Part(step, requestsOf(requests, step), samplesOf(samples, step)); err != nil {
				return "", err
			}
		}
	}
	return w.Complete(run)
}

func requestsOf(all []event.Request, s eventlog.Step) (out []event.Request) {
	for _, r := range all {
		if int(r.Cell) == s.Cell && int(r.Repeat) == s.Repeat {
			out = append(out, r)
		}
	}
	return out
}

func samplesOf(all []event.Sample, s eventlog.Step) (out []event.Sample) {
	for _, r := range all {
		if int(r.Cell) == s.Cell && int(r.Repeat) == s.Repeat {
			out = append(out, r)
		}
	}
	return out
}

// Copy gives the run in folder from another identity below dir. Its events are the same file (a hard link where the disk has
// them), so that a thousand runs of the seed's size take minutes less and gigabytes less.
func Copy(dir, from string, id Identity) (folder string, err error) {
	log, err := eventlog.Open(from)
	if err != nil {
		return "", err
	}
	run := id.apply(log.Run())
	text, err := eventlog.EncodeRun(run)
	if err != nil {
		return "", err
	}
	folder = filepath.Join(dir, run.ID)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for name := range run.Files {
		if err := link(filepath.Join(from, name), filepath.Join(folder, name)); err != nil {
			return "", err
		}
	}
	return folder, os.WriteFile(filepath.Join(folder, "run.toml"), text, 0o644)
}

// link makes to a second name of from, else a copy.
func link(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

// Fill stores the n different runs of Identities below dir. Four of them have events of their own, a little slower from one to the next; the
// others share these files.
func Fill(dir string, n int) error {
	var own []string
	for i, id := range Identities(n) {
		var folder string
		var err error
		if i < 4 {
			folder, err = Store(dir, Config{Seed: uint64(i + 1), Slow: 1 + 0.05*float64(i)}, id)
			own = append(own, folder)
		} else {
			_, err = Copy(dir, own[i%len(own)], id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Digest is the SHA-256 of a file's content as run.toml writes it, for tests that change files.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
