package eventlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that is put in the place of another while a reader looks is read whole, whichever of the two it is.
func TestReadWhileReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, runName)
	short, long := strings.Repeat("a", 100), strings.Repeat("b", 50_000)
	put := func(text string) {
		if err := os.WriteFile(path+".tmp", []byte(text), 0o644); err != nil {
			t.Error(err)
		}
		if err := os.Rename(path+".tmp", path); err != nil {
			t.Error(err)
		}
	}
	put(short)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				put([]string{long, short}[i%2])
			}
		}
	}()
	defer func() {
		close(stop)
		<-done
	}()
	f, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 3000 {
		b, err := f.read(runName, maxRunBytes)
		if err != nil || string(b) != short && string(b) != long {
			t.Fatalf("%d bytes read, error %v: want all 100 or all 50,000", len(b), err)
		}
	}
}
