package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"speedmatrix/internal/client"
	"speedmatrix/internal/event"
)

func TestSmoke(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 20 {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"t%d\"},\"finish_reason\":null}]}\n\n", i)
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer srv.Close()
	c, err := client.New(client.Config{BaseURL: srv.URL + "/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	cn, err := c.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer cn.Close()
	for range 3 {
		r := cn.Do(context.Background(), client.Request{Prompt: "hi", MaxTokens: 20}, nil)
		if r.Record.Outcome != event.OK || r.Record.Tokens() != 20 || r.Record.Clock != event.Kernel || r.Record.ConnectUS != nil {
			t.Errorf("got %+v", r.Record)
		}
		t.Log(r.Record.StartUS, *r.Record.HeadersUS, r.Record.ChunkUS, *r.Record.EndUS, r.Reads)
	}
}
