//go:build browser

package browser

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// tools are the programs outside this repository, by path.
type tools struct {
	node, chromium string
}

// minNode is the oldest major version of Node.js that the packages in package.json run on.
const minNode = 20

// findTools finds or installs Chromium (Debian's package) and the npm packages of package-lock.json. What cannot
// be had skips the test, aloud.
func findTools(t *testing.T) tools {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		skip(t, "no node: install Node.js %d or newer", minNode)
	}
	version, err := exec.Command(node, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < minNode {
		skip(t, "node is %s: install Node.js %d or newer", bytes.TrimSpace(version), minNode)
	}
	chromium, err := findChromium(t)
	if err != nil {
		skip(t, "%v", err)
	}
	if err := installPackages(); err != nil {
		skip(t, "%v", err)
	}
	return tools{node: node, chromium: chromium}
}

// skip skips a test in a way that is not overlooked in a log.
func skip(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Skipf("\n*** SKIPPED, NO PAGE WAS LOOKED AT: "+format, args...)
}

// findChromium is the browser that CHROMIUM names, else one that is installed, else Debian's, installed now.
func findChromium(t *testing.T) (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path, nil
	}
	if path := lookChromium(); path != "" {
		return path, nil
	}
	t.Log("installing chromium with apt-get")
	for _, args := range [][]string{{"update"}, {"install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"}} {
		words := append([]string{"apt-get", "--quiet"}, args...)
		if os.Getuid() != 0 {
			words = append([]string{"sudo", "--non-interactive"}, words...)
		}
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("no chromium, and %s: %w\n%s", strings.Join(words, " "), err, out)
		}
	}
	if path := lookChromium(); path != "" {
		return path, nil
	}
	return "", errors.New("no chromium: apt-get installed none; set CHROMIUM to a Chromium or Chrome")
}

func lookChromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// installPackages calls npm unless node_modules was made from the lock file as it is now.
func installPackages() error {
	const stamp = "node_modules/.made-from"
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return err
	}
	if made, err := os.ReadFile(stamp); err == nil && bytes.Equal(made, lock) {
		return nil
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return os.WriteFile(stamp, lock, 0o644)
}
