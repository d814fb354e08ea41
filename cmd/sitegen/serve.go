package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	pollEvery  = 500 * time.Millisecond
	reloadPath = "/_sitegen/reload"
	scriptPath = "/_sitegen/reload.js"
)

// reloadScript reloads a page after each rebuild. It is in no built page: serve adds it while sending.
const reloadScript = `new EventSource("` + reloadPath + `").onmessage = () => location.reload();` + "\n"

func serveCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var c buildConfig
	set := buildFlags(&c)
	set.Init("serve", 0)
	listen := set.String("listen", "127.0.0.1:8080", "`address` to serve on, of this machine only; port 0 takes a free one")
	if done, err := parse(set, args, stdout); done {
		return err
	}
	c.templatesGiven = set.Changed("templates")
	if err := checkLoopback(*listen); err != nil {
		return err
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	if _, err := build(ctx, c, stderr); err != nil {
		return errors.Join(err, l.Close())
	}
	s := &server{dir: c.out, clients: map[chan struct{}]bool{}}
	web := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	fmt.Fprintf(stdout, "http://%s/ (rebuilt on every change; interrupt to stop)\n", l.Addr())
	go s.watch(ctx, c, stderr)
	go func() {
		<-ctx.Done()
		web.Close()
	}()
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// checkLoopback refuses addresses that other machines could reach: serve is for looking, not for publishing.
func checkLoopback(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return usageError("--listen %q: want host:port, such as 127.0.0.1:8080", listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usageError("--listen %q: want an address of this machine, such as 127.0.0.1:8080", listen)
	}
	return nil
}

// server sends the built site and tells open pages to reload.
type server struct {
	dir string

	mu      sync.Mutex
	clients map[chan struct{}]bool
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	switch r.URL.Path {
	case reloadPath:
		s.events(w, r)
		return
	case scriptPath:
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		io.WriteString(w, reloadScript)
		return
	}
	name := path.Clean("/" + r.URL.Path)
	if strings.HasSuffix(r.URL.Path, "/") {
		name = path.Join(name, "index.html")
	}
	if _, err := os.Stat(s.path(name)); err != nil || strings.HasSuffix(name, ".html") {
		s.page(w, name)
		return
	}
	http.FileServer(http.Dir(s.dir)).ServeHTTP(w, r)
}

func (s *server) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// page sends an HTML file with the reload script, or 404.html.
func (s *server) page(w http.ResponseWriter, name string) {
	status := http.StatusOK
	b, err := os.ReadFile(s.path(name))
	if err != nil {
		status = http.StatusNotFound
		b, _ = os.ReadFile(s.path("404.html"))
	}
	b = bytes.Replace(b, []byte("</body>"), []byte(`<script defer src="`+scriptPath+`"></script></body>`), 1)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b)
}

// events keeps a page's connection open and sends a message after each rebuild.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	ch := make(chan struct{}, 1)
	s.mu.Lock()
	s.clients[ch] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.clients, ch)
		s.mu.Unlock()
	}()
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-ch:
			io.WriteString(w, "data: rebuilt\n\n")
			_ = flush.Flush()
		}
	}
}

func (s *server) reload() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ch := range s.clients {
		select {
		case ch <- struct{}{}:
		default: // one is waiting already
		}
	}
}

// watch rebuilds when a file of the input changes. A build that fails is told, and the last good site stays.
func (s *server) watch(ctx context.Context, c buildConfig, stderr io.Writer) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	last := fingerprint(c)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := fingerprint(c)
		if now == last {
			continue
		}
		last = now
		if _, err := build(ctx, c, stderr); err != nil {
			report(stderr, err)
			continue
		}
		s.reload()
	}
}

// fingerprint is the names, sizes and times of all input files.
func fingerprint(c buildConfig) string {
	var b strings.Builder
	for _, dir := range []string{c.results, c.templates, c.overrides} {
		if dir == "" {
			continue
		}
		_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it went away while we looked: the next look will tell
			}
			if info, err := d.Info(); err == nil && !d.IsDir() {
				fmt.Fprintf(&b, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
			}
			return nil
		})
	}
	return b.String()
}
