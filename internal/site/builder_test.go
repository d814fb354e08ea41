package site_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"speedmatrix/internal/page"
	"speedmatrix/internal/page/seedtest"
	"speedmatrix/internal/site"
	"speedmatrix/internal/summary"
)

// tree reads a folder: content by path.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTwoBuildsAreEqual(t *testing.T) {
	var first map[string]string
	for i := range 2 {
		opt, cfg := options(t)
		cfg.BaseURL = "https://example.org/x/"
		runs := []summary.Run{seedtest.Synthetic(), second()}
		if i == 1 {
			runs[0], runs[1] = runs[1], runs[0]
		}
		if err := build(t, opt, cfg, runs...); err != nil {
			t.Fatal(err)
		}
		got := tree(t, opt.Out)
		if first == nil {
			first = got
			continue
		}
		for name, content := range got {
			if first[name] != content {
				t.Errorf("%s differs between two builds", name)
			}
		}
		if len(first) != len(got) {
			t.Errorf("%d files, then %d", len(first), len(got))
		}
	}
}

func second() summary.Run {
	s := seedtest.Run()
	s.Facts.ID = "another-run"
	return s
}

// TestBudgets holds the first load of a run page to SITE.md: 25 KB for the page, 10 KB for scripts, 60 KB in all, compressed.
func TestBudgets(t *testing.T) {
	opt, cfg := options(t)
	s := seedtest.Synthetic()
	if err := build(t, opt, cfg, s); err != nil {
		t.Fatal(err)
	}
	var html, script, charts, total int
	for name, content := range tree(t, opt.Out) {
		n := compressed(t, content)
		switch {
		case name == page.RunPath(s.Facts.ID)+"index.html":
			html, total = n, total+n
		case strings.HasPrefix(name, "assets/site."):
			script, total = n, total+n
		case strings.HasPrefix(name, "assets/style.") || strings.HasPrefix(name, "assets/favicon."):
			total += n
		case strings.HasPrefix(name, "assets/echarts."):
			charts = n
		}
	}
	check := func(what string, got, limit int) {
		t.Helper()
		t.Logf("%s: %d bytes of %d", what, got, limit)
		if got == 0 || got > limit {
			t.Errorf("%s is %d bytes compressed, want at most %d", what, got, limit)
		}
	}
	check("page", html, 25_000)
	check("scripts", script, 10_000)
	check("first load", total, 60_000)
	check("chart library", charts, 215_000)
}

func compressed(t testing.TB, s string) int {
	t.Helper()
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return b.Len()
}

func TestSocialImage(t *testing.T) {
	opt, cfg := options(t)
	s := seedtest.Synthetic()
	s.Title = strings.Repeat("a very long model name 模型 ", 40)
	if err := build(t, opt, cfg, s); err != nil {
		t.Fatal(err)
	}
	b := tree(t, opt.Out)[page.RunPath(s.Facts.ID)+"social.png"]
	img, err := png.Decode(strings.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if _, paletted := img.(*image.Paletted); !paletted || img.Bounds() != image.Rect(0, 0, 1200, 630) {
		t.Errorf("image is %T of %v, want a palette and 1200 x 630", img, img.Bounds())
	}
}

func TestOnlyOwnFoldersAreReplaced(t *testing.T) {
	check := func(name string, files map[string]string, refused bool) {
		t.Helper()
		opt, cfg := options(t)
		for f, content := range files {
			write(t, filepath.Join(opt.Out, f), content)
		}
		err := build(t, opt, cfg, seedtest.Run())
		if (err != nil) != refused {
			t.Errorf("%s: error %v, want refused %t", name, err, refused)
		}
		got := tree(t, opt.Out)
		for f, content := range files {
			kept := refused || f == "README.md" || f == ".gitignore"
			if kept && got[f] != content {
				t.Errorf("%s: %s was lost", name, f)
			}
			if !kept && got[f] == content && f != ".sitegen" {
				t.Errorf("%s: %s of the old site is still there", name, f)
			}
		}
		left, err := filepath.Glob(filepath.Join(filepath.Dir(opt.Out), ".site.new-*"))
		if err != nil || (len(left) > 0 && !refused) {
			t.Errorf("%s: left behind %q", name, left)
		}
	}
	check("absent", nil, false)
	check("readme and gitignore", map[string]string{"README.md": "read", ".gitignore": "*"}, false)
	check("an older site", map[string]string{".sitegen": "x", "runs/old/index.html": "old", "README.md": "read"}, false)
	check("someone's folder", map[string]string{"thesis.tex": "precious"}, true)
	check("someone's repository", map[string]string{".git/HEAD": "x", "README.md": "read"}, true)
}

// TestFailedBuildChangesNothing breaks a link in a template and compares the old site before and after.
func TestFailedBuildChangesNothing(t *testing.T) {
	opt, cfg := options(t)
	if err := build(t, opt, cfg, seedtest.Run()); err != nil {
		t.Fatal(err)
	}
	before := tree(t, opt.Out)
	opt.Overrides = fstest.MapFS{"home.html": {Data: []byte(`{{define "content"}}<a href="gone/">x</a><a href="methodology/#nothing">y</a><a href="/absolute">z</a>{{end}}`)}}
	b, err := site.New(opt, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Home(page.NewHome(nil, cfg), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := b.Methodology(page.NewMethodology(1, []int{1}, "methodology/", "", cfg)); err != nil {
		t.Fatal(err)
	}
	err = b.Finish()
	for _, want := range []string{
		`page index.html: link "gone/" leads to no file of the site`,
		`page index.html: link "methodology/#nothing" names an anchor that the page does not have`,
		`page index.html: link "/absolute" is absolute, so it breaks when the site stands in a sub-folder`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v\nwant one that says %s", err, want)
		}
	}
	if err := b.Abort(); err != nil {
		t.Fatal(err)
	}
	if after := tree(t, opt.Out); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a build that failed changed the old site")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(opt.Out), ".site.new-*")); len(left) > 0 {
		t.Errorf("left behind %q", left)
	}
}

func TestOverridesWin(t *testing.T) {
	opt, cfg := options(t)
	opt.Overrides = fstest.MapFS{
		"style.css": {Data: []byte("body { color: teal }")},
		"site.toml": {Data: []byte("title = \"Ours\"\nbase_url = \"https://example.org/a/b\"\n")},
	}
	cfg, err := site.Config(opt)
	if err != nil || cfg.Title != "Ours" {
		t.Fatalf("title %q, error %v", cfg.Title, err)
	}
	if err := build(t, opt, cfg, seedtest.Run()); err != nil {
		t.Fatal(err)
	}
	files := tree(t, opt.Out)
	var sheet string
	for name, content := range files {
		if strings.HasPrefix(name, "assets/style.") {
			sheet = content
		}
	}
	if !strings.HasPrefix(sheet, "body { color: teal }") || !strings.Contains(sheet, ".h8 {") {
		t.Errorf("style sheet %.60q", sheet)
	}
	if !strings.Contains(files["404.html"], `href="/a/b/assets/style.`) {
		t.Error("404.html does not find its style sheet from any depth")
	}
	if !strings.Contains(files["sitemap.xml"], "<loc>https://example.org/a/b/runs/"+seedtest.Run().Facts.ID+"/</loc><lastmod>2026-12-01</lastmod>") {
		t.Errorf("sitemap %s", files["sitemap.xml"])
	}
	if !strings.Contains(files["opensearch.xml"], `<Url type="text/html" template="https://example.org/a/b/?q={searchTerms}"></Url>`) {
		t.Errorf("search %s", files["opensearch.xml"])
	}
	if !strings.Contains(files["index.html"], `<link rel="search" type="application/opensearchdescription+xml" href="opensearch.xml"`) {
		t.Error("the home page does not name opensearch.xml")
	}
	if !strings.Contains(files["robots.txt"], "Sitemap: https://example.org/a/b/sitemap.xml") {
		t.Errorf("robots %s", files["robots.txt"])
	}
}

func TestConfigRefusesWhatItDoesNotKnow(t *testing.T) {
	check := func(toml, want string) {
		t.Helper()
		opt, _ := options(t)
		opt.Overrides = fstest.MapFS{"site.toml": {Data: []byte(toml)}}
		if _, err := site.Config(opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", toml, err, want)
		}
	}
	check(`titel = "x"`, `"titel" is not known`)
	check(`base_url = "example.org"`, "https://")
	check(`data_url = "javascript:alert(1)"`, "data_url")
	check(`title = `, "site.toml")
}

func TestFilesStayInside(t *testing.T) {
	opt, cfg := options(t)
	b, err := site.New(opt, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	for _, name := range []string{"../x", "/x", "a/../../x", `a\..\x`, ""} {
		if err := b.File(name, nil); err == nil {
			t.Errorf("file %q was written", name)
		}
	}
	if err := b.File("a/b", nil); err != nil {
		t.Error(err)
	}
	if err := b.File("a/b", nil); err == nil {
		t.Error("one file was written twice")
	}
}
