package ollama

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// card is what probe-chain writes at temperature 0.
const card = `{"title": "Tides", "text": "ü🙂 twice a day"}`

// server is an Ollama with its own home, on loopback, with the models
// probe-chain (a card), probe-fenced (a card in prose and a fence), probe-noise
// (anything) and probe-long (a page).
type server struct{ url string }

const modelfile = `FROM %s
TEMPLATE """{{ if .System }}<|user|>{{ .System }}{{ end }}<|user|>{{ .Prompt }}<|assistant|>"""
PARAMETER temperature 0
PARAMETER num_thread 1
`

func start(t *testing.T) *server {
	t.Helper()
	binary := os.Getenv("PENSTOCK_OLLAMA")
	if binary == "" {
		t.Fatal("PENSTOCK_OLLAMA is not set: it names the binary of an Ollama; make test-ollama builds one")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "OLLAMA_HOST="+address, "OLLAMA_MODELS="+filepath.Join(home, "models"), "OLLAMA_NOPRUNE=1")
	log, err := os.Create(filepath.Join(home, "log"))
	if err != nil {
		t.Fatal(err)
	}
	serve := exec.Command(binary, "serve")
	serve.Env, serve.Stdout, serve.Stderr = env, log, log
	if err := serve.Start(); err != nil {
		t.Fatalf("PENSTOCK_OLLAMA: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	t.Cleanup(func() {
		serve.Process.Signal(os.Interrupt) // it ends the processes that run its models
		<-ended
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("what the server said last:\n%s", text[max(0, len(text)-8000):])
		}
		log.Close()
	})
	s := &server{"http://" + address}
	s.wait(t, ended)
	page := make([][]string, 200)
	for i := range page {
		page[i] = []string{fmt.Sprintf("line %d of many\n", i)}
	}
	for name, model := range map[string]*gguf{
		"probe-chain":  chain([]string{`{"title": "`}, []string{"Tides", "Fog", "Knots", "Bells"}, []string{`", "text": "`}, []string{"ü🙂"}, []string{" twice"}, []string{" a day"}, []string{`"}`}),
		"probe-fenced": chain([]string{"Here is a card:\n"}, []string{"```json\n"}, []string{`{"title": "`}, []string{"Tides"}, []string{`"}`}, []string{"\n```"}, []string{"\nI hope it helps."}),
		"probe-noise":  noise(),
		"probe-long":   chain(page...),
	} {
		weights, file := filepath.Join(home, name+".gguf"), filepath.Join(home, name+".model")
		model.write(t, weights)
		if err := os.WriteFile(file, fmt.Appendf(nil, modelfile, weights), 0o644); err != nil {
			t.Fatal(err)
		}
		create := exec.Command(binary, "create", name, "-f", file)
		create.Env = env
		if out, err := create.CombinedOutput(); err != nil {
			t.Fatalf("ollama create %s: %v\n%s", name, err, out)
		}
	}
	return s
}

// wait waits until the server answers, or has ended.
func (s *server) wait(t *testing.T, ended chan error) {
	t.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		response, err := http.Get(s.url)
		if err == nil {
			response.Body.Close()
			return
		}
		select {
		case <-tick.C:
		case err := <-ended:
			ended <- err
			t.Fatalf("ollama serve ended: %v", err)
		case <-late:
			t.Fatalf("ollama serve does not answer: %v", err)
		}
	}
}
