package main

import (
	"bytes"
	"encoding/base64"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

// vault is a key with signs that URLs and markup escape; its second half finds it in
// those forms, too.
const vault = "sk-canary/7f3a+d1c0&" + canaryHalf

// echoes are what a server does with the key that it was sent, by the item that is
// asked about. After the last, which has no patience, nothing more is asked.
var echoes = map[string]wiretest.Step{
	"invalid": {Status: 400, Body: `{"error":{"message":"the key ` + vault + ` may not do this"}}`},
	"broken":  {Status: 500, Body: "<html>" + vault + "</html>"},
	"header":  {Status: 400, Header: http.Header{"X-Request-Id": {vault}, "Request-Id": {vault}, "Retry-After": {vault}}, Body: `{"error":{"message":"m"}}`},
	"moved":   {Status: 302, Header: http.Header{"Location": {"http://127.0.0.1:9/?key=sk-canary%2F7f3a%2Bd1c0%26" + canaryHalf}}, Body: "{}"},
	"strange": {Status: 200, Body: vault},
	"prose":   {Text: "The key is " + vault + "."},
	"refused": {Text: "I will not use " + vault + ".", Finish: "refusal"},
	"cut":     {Text: `{"said":"` + vault, Fault: wiretest.Cut, After: 2},
	"whole":   {Text: "So it is.", Model: "m-" + vault},
	"zz-full": {Status: 503, Header: http.Header{"Retry-After": {"0"}}, Body: `{"error":{"message":"` + vault + `"}}`},
}

// TestTheKeyIsNowhereOverAnyWire has servers give back the key that they were sent,
// in bodies, headers, redirects, answers and broken streams, over each wire; and finds
// it in no output and in no file, in no form.
func TestTheKeyIsNowhereOverAnyWire(t *testing.T) {
	for _, wire := range rootWires {
		t.Run(wire.name, func(t *testing.T) {
			t.Parallel()
			server := wiretest.ServeFunc(t, func(_ int, r wiretest.Request) wiretest.Step {
				heard := wiretest.Heard(r).Messages
				return echoes[strings.TrimSpace(textOf(heard[0]))]
			})
			dir, temp := t.TempDir(), t.TempDir()
			var items strings.Builder
			for _, id := range slices.Sorted(maps.Keys(echoes)) {
				items.WriteString(`{"id":"` + id + `"}` + "\n")
			}
			pipeline := strings.Replace(canaryPipeline, `headers  = { authorization = "Bearer ${var.token}" }`, `headers = { x-other-key = var.token }`, 1)
			for name, content := range map[string]string{
				"pipeline.hcl": strings.Replace(pipeline, `origin.id == "asked"`, `origin.id != "seen"`, 1), "look.sh": "cat\n", "items.jsonl": items.String(),
				"item.json": `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`,
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			const limits = "limits {\n    concurrency = 1\n    patience    = \"1ms\"\n  }"
			editProvider(t, dir, "model", wire.plugin, wire.writer, server.URL+wire.base, "headers = { x-other-key = var.token }\n"+wire.more)
			replaceIn(t, filepath.Join(dir, "pipeline.hcl"), "limits { concurrency = 8 }", limits)
			say := func(args ...string) {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), "penstock", args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "LIVE_KEY="+vault, "PENSTOCK_VAR_token="+vault, "TMPDIR="+temp)
				if out, _ := cmd.CombinedOutput(); shows(out) {
					t.Errorf("penstock %s prints it:\n%s", strings.Join(args, " "), out)
				}
			}
			say("plan", "--live", "-o", "plan.json")
			say("plan", "--live", "--json")
			say("run", "--live", "-j", "1", "--record", "cassette.jsonl", "--keep-going")
			if asked := len(server.Asked()); asked < len(echoes) {
				t.Errorf("the server was asked %d times about %d items", asked, len(echoes))
			}
			say("run", "--live", "-j", "1", "-k", "--json")
			for _, args := range [][]string{{"status"}, {"status", "--json"}, {"report", "-o", "report.html"}, {"report", "--json"}, {"audit"}, {"logs", "ask"}} {
				say(args...)
			}
			for id := range echoes {
				say("show", id, "--json")
				say("why", id)
				say("why", "ask["+id+"]", "--json")
				say("logs", "ask["+id+"]")
			}
			for _, folder := range []string{dir, temp} {
				if found := filesWith(t, folder, shows); len(found) > 0 {
					t.Errorf("it stands in %q", found)
				}
			}
		})
	}
}

func replaceIn(t *testing.T, path, old, by string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(content, []byte(old)) {
		t.Fatalf("%s has no %s", path, old)
	}
	if err := os.WriteFile(path, bytes.Replace(content, []byte(old), []byte(by), 1), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shows finds the key as it is, in a URL, in JSON or HTML, by its second half; and in
// base64, at each of the three offsets at which it may begin.
func shows(b []byte) bool {
	if leaks(b) {
		return true
	}
	for offset := range 3 {
		coded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + vault))
		if bytes.Contains(b, []byte(coded[4:len(coded)-4])) {
			return true
		}
	}
	return false
}
