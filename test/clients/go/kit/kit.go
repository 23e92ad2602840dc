// Package kit is what the programs share: the gateway's address, and a line of JSON for each call.
package kit

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
)

var (
	URL     = need("GATEWAY_URL")
	Key     = need("GATEWAY_KEY")
	Spent   = need("GATEWAY_SPENT_KEY")
	Picture = need("GATEWAY_PICTURE")
	Mask    = need("GATEWAY_MASK")
	Sound   = need("GATEWAY_SOUND")
)

const (
	Prompt = "a red boat"
	Said   = "simulated answer to: a red boat"
)

func need(name string) string {
	value, ok := os.LookupEnv(name)
	if !ok {
		panic(name + " is not set: npm run test:clients sets it")
	}
	return value
}

// Caller makes calls with one client, and reports each.
type Caller struct{ client, version string }

// For returns a Caller with the version of the client's module that this program was built from.
func For(client, module string) Caller {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module {
			return Caller{client, dep.Version}
		}
	}
	panic(module + " is not part of this program")
}

func (c Caller) Call(name string, run func() error) {
	line := map[string]any{"client": c.client, "version": c.version, "call": name, "ok": true}
	if err := guard(run); err != nil {
		line["ok"] = false
		line["error"] = fmt.Sprintf("%T: %.2000s", err, err)
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func guard(run func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return run()
}

// Same returns an error unless both are equal.
func Same[T comparable](found, wanted T) error {
	if found == wanted {
		return nil
	}
	return fmt.Errorf("expected %v but got %v", wanted, found)
}

// First returns the first error among them.
func First(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
