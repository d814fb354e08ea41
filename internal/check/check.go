// Package check says what keeps a contributed run out of the repository: the rules of `sitegen check`.
//
// Run looks at one folder in these steps; a step that finds the ground missing ends the check:
//
//  1. layout: the folder's name, its files, their sizes (layout.go);
//  2. format and digests: what package eventlog refuses (check.go);
//  3. text: secrets, home folders, private addresses and host names, found by package redact (text.go);
//  4. time and place: nothing in the future, instants in order, requests within their pass and streams, none twice (instants.go);
//  5. counts: tokens against usage and against what was asked, rates within physical bounds (counts.go).
//
// Duplicates and Changes look at a set of runs (set.go), Folder at what lies beside them (folder.go). A problem is a value with a way to mend it, never an error; the package
// repeats nothing secret, changes no file and reads no clock: "now" is an option.
package check

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"speedmatrix/internal/event"
	"speedmatrix/internal/eventlog"
)

// Severity says whether a problem keeps a run out.
type Severity string

const (
	Refuse Severity = "refuse"
	Warn   Severity = "warn"
)

// Problem is one thing that is wrong: where, what, and how to mend it, each in one line.
type Problem struct {
	Path     string // the file, or the run's folder
	What     string
	Mend     string
	Severity Severity
}

func (p Problem) String() string {
	s := p.Path + ": " + p.What
	if p.Severity == Warn {
		s = p.Path + ": warning: " + p.What
	}
	return s + "; " + p.Mend
}

// Options of Run. The zero value checks everything that needs none of them.
type Options struct {
	Now time.Time // runs that started or went on after it are refused; zero: not checked
}

// Run returns every problem of the run in the folder at path, by file; nil when there is none. Of one kind of problem
// in one file it returns the first few and the number of the others.
func Run(path string, opt Options) []Problem {
	r := &report{dir: filepath.Clean(path)}
	if !r.layout() {
		return r.done()
	}
	log, err := eventlog.Open(r.dir)
	if err != nil {
		r.errors(runFile, err, "write the run with measure, or mend the file by docs/format.md")
		return r.done()
	}
	run := log.Run()
	r.identity(&run)
	r.errors("", log.Verify(), "restore the file that measure wrote: runs are never edited")
	r.runText(&run)
	reqs, err := log.Requests()
	if err != nil {
		r.errors(requestsFile, err, "restore the file that measure wrote")
		return r.done()
	}
	samples, err := log.Samples()
	if err != nil {
		r.errors(samplesFile, err, "restore the file that measure wrote")
		return r.done()
	}
	r.rowText(reqs, samples)
	r.future(&run, reqs, samples, opt.Now)
	r.windows(&run)
	passes := passesOf(&run)
	for i := range reqs {
		r.request(i, &reqs[i], &run, passes)
	}
	r.twice(reqs)
	r.totals(&run, reqs)
	return r.done()
}

const manyOfAKind = 5

// report gathers problems.
type report struct {
	dir      string
	problems []Problem
	seen     map[[2]string]int // by file and rule
	first    map[[2]string]Problem
	order    [][2]string
}

// add notes a problem of a rule; file is within the folder, "" for the folder itself.
func (r *report) add(s Severity, file, rule, mend, format string, args ...any) {
	key := [2]string{file, rule}
	if r.seen == nil {
		r.seen, r.first = map[[2]string]int{}, map[[2]string]Problem{}
	}
	p := Problem{oneLine(r.path(file)), oneLine(fmt.Sprintf(format, args...)), mend, s}
	if r.seen[key]++; r.seen[key] == 1 {
		r.order = append(r.order, key)
		r.first[key] = p
	}
	if r.seen[key] <= manyOfAKind {
		r.problems = append(r.problems, p)
	}
}

func (r *report) refuse(file, rule, mend, format string, args ...any) {
	r.add(Refuse, file, rule, mend, format, args...)
}

// errors notes each part of a joined error; without a file, the file is the one that the error names.
func (r *report) errors(file string, err error, mend string) {
	if err == nil {
		return
	}
	var newer *eventlog.SchemaError
	if errors.As(err, &newer) {
		mend = "check it with a speedmatrix that knows this schema"
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		at := file
		for _, name := range []string{requestsFile, samplesFile} {
			if file == "" && strings.Contains(line, name) {
				at = name
			}
		}
		r.refuse(at, "format", mend, "%s", strings.TrimPrefix(line, "run.toml: "))
	}
}

func (r *report) path(file string) string { return filepath.Join(r.dir, file) }

func (r *report) done() []Problem {
	for _, key := range r.order {
		if n := r.seen[key] - manyOfAKind; n > 0 {
			p := r.first[key]
			p.What = fmt.Sprintf("%d more like this: %s", n, key[1])
			r.problems = append(r.problems, p)
		}
	}
	return r.problems
}

// oneLine keeps hostile text from forging lines, or colours on a terminal.
func oneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return c
	}, s)
}

// passOf finds a request's pass.
type passOf map[eventlog.Step]event.Pass

func passesOf(run *event.Run) passOf {
	out := passOf{}
	for i, c := range run.Cells {
		for _, p := range c.Passes {
			out[eventlog.Step{Cell: i, Repeat: p.Repeat}] = p
		}
	}
	return out
}
