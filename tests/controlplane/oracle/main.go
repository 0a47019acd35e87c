// The oracle says what kube-scheduler says: it runs the in-tree plugins of the Kubernetes release
// in go.mod over scenarios read from standard input, one JSON object a line, and writes one JSON
// result a line. README.md describes both forms.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

const lineLimit = 64 << 20

func main() {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	metrics.Register()
	if err := answer(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func answer(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), lineLimit)
	writer := bufio.NewWriter(out)
	encoder := json.NewEncoder(writer)
	for number := 1; lines.Scan(); number++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		result, err := judgeLine(ctx, lines.Bytes())
		if err != nil {
			return fmt.Errorf("scenario %d: %w", number, err)
		}
		if err := encoder.Encode(result); err != nil {
			return err
		}
		if err := writer.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

func judgeLine(ctx context.Context, line []byte) (*Result, error) {
	var scenario Scenario
	if err := json.Unmarshal(line, &scenario); err != nil {
		return nil, err
	}
	world, err := newWorld(&scenario)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", scenario.Name, err)
	}
	return world.judge(ctx)
}
