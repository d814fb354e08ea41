// Command ggufgen writes the random-weight model that the end-to-end tests serve, for use by hand:
//
//	go run ./tests/ggufgen tiny.gguf
//	llama-server -m tiny.gguf -c 16384 -np 8 --metrics --offline
package main

import (
	"fmt"
	"os"

	"speedmatrix/internal/ggufgen"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ggufgen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments: give one, the file to write", len(args))
	}
	file, err := os.Create(args[0])
	if err != nil {
		return err
	}
	if err := ggufgen.Write(file, ggufgen.Config{}); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
