// Two checks with other people's code: compose files against the schema and rules of Docker Compose, and lines of OTLP/JSON through the Collector's own decoder and encoder.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) >= 2 && args[0] == "compose" {
		return compose(args[1], args[2:])
	}
	if len(args) == 2 && args[0] == "spans" {
		return spans(args[1])
	}
	return fmt.Errorf("usage: checks compose FILE [PROFILE…] | checks spans FILE")
}

// compose prints the project as Compose would run it: interpolated, validated, with these profiles.
func compose(path string, profiles []string) error {
	options, err := cli.NewProjectOptions(
		[]string{path},
		cli.WithOsEnv,
		cli.WithProfiles(profiles),
		cli.WithInterpolation(true),
		cli.WithResolvedPaths(true),
	)
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	text, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(text, '\n'))
	return err
}

// spans prints each line as the Collector encodes what it decoded from it.
func spans(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for number := 1; lines.Scan(); number++ {
		if !json.Valid(lines.Bytes()) {
			return fmt.Errorf("line %d: not JSON", number)
		}
		traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(lines.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		fmt.Fprintln(out, string(text))
	}
	return lines.Err()
}
