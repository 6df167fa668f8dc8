package aimock

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

// mock is a running aimock.
type mock struct{ url string }

// start starts an aimock that takes one key, the suite's. What it draws by chance
// it draws from a seed, so that a run of the tests is like any other.
func start(t *testing.T, flags ...string) *mock {
	t.Helper()
	command := os.Getenv("PENSTOCK_AIMOCK")
	if command == "" {
		t.Fatal("PENSTOCK_AIMOCK is not set: npm install @copilotkit/aimock, and name its command node_modules/.bin/llmock")
	}
	node := exec.Command("node", append([]string{"--random-seed=7", command, "--port", "0", "--host", "127.0.0.1", "--journal-max", "0"}, flags...)...)
	node.Dir = t.TempDir() // it looks for a folder named fixtures
	if err := os.Mkdir(node.Dir+"/fixtures", 0o755); err != nil {
		t.Fatal(err)
	}
	node.Env = append(os.Environ(), "AIMOCK_API_KEYS="+wiretest.Canary)
	said, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	node.Stderr = node.Stdout
	if err := node.Start(); err != nil {
		t.Fatalf("PENSTOCK_AIMOCK: %v", err)
	}
	t.Cleanup(func() {
		node.Process.Kill()
		node.Wait()
	})
	var heard strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if _, address, ok := strings.Cut(lines.Text(), "listening on "); ok {
			go io.Copy(io.Discard, said)
			return &mock{url: strings.TrimSpace(address)}
		}
		heard.WriteString(lines.Text() + "\n")
	}
	t.Fatalf("aimock ended before it listened:\n%s", heard.String())
	return nil
}

// control calls the mock's own API.
func (m *mock) control(t *testing.T, method, path string, document any) []byte {
	t.Helper()
	var body bytes.Buffer
	if document != nil {
		if err := json.NewEncoder(&body).Encode(document); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, m.url+"/__aimock"+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+wiretest.Canary)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s: %s (%v)", method, path, response.Status, answer, err)
	}
	return answer
}

// script has the mock answer by these fixtures, and forget what it was asked.
func (m *mock) script(t *testing.T, fixtures ...fixture) {
	t.Helper()
	m.control(t, http.MethodPost, "/reset", nil)
	m.control(t, http.MethodPost, "/fixtures", map[string]any{"fixtures": fixtures})
}

// entry is a request in the mock's journal.
type entry struct {
	Method, Path string
	Headers      map[string]string
	Body         map[string]any
	Response     struct {
		Status int
		Chaos  string `json:"chaosAction"`
	}
}

// journal is what the mock was asked since the script began. Of keys it keeps
// only that they were there; since it answers 401 to any but the suite's, and
// keeps no such request, that key stands in their place.
func (m *mock) journal(t *testing.T) []entry {
	t.Helper()
	var entries []entry
	if err := json.Unmarshal(m.control(t, http.MethodGet, "/journal", nil), &entries); err != nil {
		t.Fatal(err)
	}
	return entries
}
