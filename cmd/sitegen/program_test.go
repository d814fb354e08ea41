package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/rogpeppe/go-internal/testscript"

	"speedmatrix/internal/synth"
)

// TestMain lets the scripts of testdata/script call this program, and "sameTree A B".
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sitegen": main})
}

// TestScripts runs the program as a user does: flags, messages, exit codes, files.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"synth":       synthCommand,
			"same-tree":   sameTree,
			"exit-code":   exitCode,
			"name-status": nameStatus,
			"bomb":        bomb,
		},
	})
}

// synthCommand stores small synthetic runs: synth DIR N. The paths of the folders are in $RUN0, $RUN1, …
func synthCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: synth DIR N")
	}
	var n int
	if _, err := fmt.Sscan(args[1], &n); err != nil {
		ts.Fatalf("synth: %v", err)
	}
	for i, id := range synth.Identities(n) {
		dir, err := synth.Store(ts.MkAbs(args[0]), synth.Config{Seed: uint64(i + 1), Small: true, Seconds: 2, Output: 128}, id)
		ts.Check(err)
		ts.Setenv(fmt.Sprintf("RUN%d", i), filepath.Base(dir))
	}
}

// sameTree compares two folders to the byte: same-tree A B.
func sameTree(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: same-tree A B")
	}
	a, b := files(ts, args[0]), files(ts, args[1])
	var differ []string
	for name, content := range a {
		if other, ok := b[name]; !ok || !bytes.Equal(content, other) {
			differ = append(differ, name)
		}
	}
	if same := len(a) == len(b) && len(differ) == 0; same == neg {
		ts.Fatalf("%d and %d files, differing: %q", len(a), len(b), differ)
	}
}

func files(ts *testscript.TestScript, dir string) map[string][]byte {
	out := map[string][]byte{}
	root := ts.MkAbs(dir)
	ts.Check(filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		out[rel], err = os.ReadFile(path)
		return err
	}))
	return out
}

// exitCode runs the program and compares its exit code, which testscript does not tell: exit-code N ARGS…
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exit-code N ARGS…")
	}
	err := ts.Exec("sitegen", args[1:]...)
	got := 0
	if err != nil {
		got = -1
		if _, code, ok := strings.Cut(err.Error(), "exit status "); ok {
			fmt.Sscan(code, &got)
		}
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit code %d, want %s (%v)", got, args[0], err)
	}
}

// nameStatus writes what git diff --name-status -z says of one path: name-status FILE LETTER PATH
func nameStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: name-status FILE LETTER PATH")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(args[1]+"\x00"+args[2]+"\x00"), 0o644))
}

// bomb makes a run's requests claim a thousand million rows, with digests that fit, as a contributor who means harm would: bomb RUN-FOLDER
func bomb(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: bomb RUN-FOLDER")
	}
	table, run := ts.MkAbs(filepath.Join(args[0], "requests.parquet")), ts.MkAbs(filepath.Join(args[0], "run.toml"))
	b, err := os.ReadFile(table)
	ts.Check(err)
	text, err := os.ReadFile(run)
	ts.Check(err)
	before := fmt.Sprintf("%x", sha256.Sum256(b))

	size := int(binary.LittleEndian.Uint32(b[len(b)-8:]))
	var protocol thrift.CompactProtocol
	var footer format.FileMetaData
	ts.Check(thrift.Unmarshal(&protocol, b[len(b)-8-size:len(b)-8], &footer))
	footer.NumRows, footer.RowGroups[0].NumRows = 1<<30, 1<<30
	for _, g := range footer.RowGroups[1:] {
		footer.NumRows += g.NumRows
	}
	foot, err := thrift.Marshal(&protocol, footer)
	ts.Check(err)
	b = append(b[:len(b)-8-size:len(b)-8-size], foot...)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(foot))), "PAR1"...)

	ts.Check(os.WriteFile(table, b, 0o644))
	after := fmt.Sprintf("%x", sha256.Sum256(b))
	if !bytes.Contains(text, []byte(before)) {
		ts.Fatalf("run.toml does not hold the digest %s", before)
	}
	ts.Check(os.WriteFile(run, bytes.ReplaceAll(text, []byte(before), []byte(after)), 0o644))
}
