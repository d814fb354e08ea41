package client_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var serveRows = flag.String("serve", "", "serve every row at this address, below /N/v1, until killed (for tests/conformance/others.py)")

// TestServeRows gives other clients the bytes and instants of the rows. It prints its address and the names of the rows.
func TestServeRows(t *testing.T) {
	if *serveRows == "" {
		t.Skip("only with -serve")
	}
	l, err := net.Listen("tcp", *serveRows)
	if err != nil {
		t.Fatal(err)
	}
	all := rows()
	names := make([][2]string, len(all))
	for i, r := range all {
		names[i] = [2]string{r.stream, r.variant}
	}
	line, err := json.Marshal(map[string]any{"url": "http://" + l.Addr().String(), "rows": names})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
	for {
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		go serveAny(conn, all)
	}
}

// serveAny answers a POST with the row that its prompt ("row7") or else its path (/7/v1) names, and anything else with a list of one model.
func serveAny(conn net.Conn, all []row) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if req.Header.Get("Expect") == "100-continue" {
			io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
		}
		body, _ := io.ReadAll(req.Body)
		s := script{header: "Content-Type: application/json\r\n", writes: at(0, `{"object":"list","data":[{"id":"m","object":"model"}]}`)}
		if req.Method == http.MethodPost {
			index, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
			if m := regexp.MustCompile(`row(\d+)`).FindSubmatch(body); m != nil {
				index = string(m[1])
			}
			i, err := strconv.Atoi(index)
			if err != nil || i < 0 || i >= len(all) {
				s = script{status: "404 Not Found"}
			} else {
				s = all[i].script
			}
		}
		if !replay(conn, func(time.Time) {}, s) {
			return
		}
	}
}
