package telemetry

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
)

// Protocols that OTLP is spoken over.
const (
	overHTTP = "http/protobuf"
	overGRPC = "grpc"
)

// Exporter is what the environment asks for. Nothing is built, and nobody is
// dialled, before Begin.
type Exporter struct {
	version  string
	traces   string // the protocol; empty: none are sent
	metrics  string // likewise
	secrets  []string
	parent   string // traceparent of what has started this process
	parentAs string // tracestate that goes with it
	run      *Run   // nil: none has begun

	mu   sync.Mutex
	said []string // what is wrong, since it was last taken
}

// warn keeps a line for people.
func (x *Exporter) warn(line string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.said = append(x.said, "telemetry: "+x.redact(line))
}

// taken gives the lines that were kept, once.
func (x *Exporter) taken() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	said := x.said
	x.said = nil
	return said
}

// FromEnvironment reads the variables that all programs with OpenTelemetry obey,
// and gives nil where they ask for nothing: no endpoint is named and no exporter
// either. The lines say what is wrong with them.
func FromEnvironment(version string) (*Exporter, []string) {
	if strings.EqualFold(variable("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	x := &Exporter{version: version, secrets: credentials(), parent: variable("TRACEPARENT"), parentAs: variable("TRACESTATE")}
	x.traces = x.signal("TRACES")
	x.metrics = x.signal("METRICS")
	wrong := x.taken()
	if x.traces == "" && x.metrics == "" {
		return nil, wrong
	}
	return x, wrong
}

func variable(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// ofSignal is a variable's value for one signal: its own, or that of all.
func ofSignal(signal, name string) string {
	if own := variable("OTEL_EXPORTER_OTLP_" + signal + "_" + name); own != "" {
		return own
	}
	return variable("OTEL_EXPORTER_OTLP_" + name)
}

// signal is the protocol that a signal is sent over; empty where it is not sent.
// The conventions would have it sent to a collector on this machine where nothing
// is set: then every run would dial one.
func (x *Exporter) signal(signal string) string {
	exporter := "OTEL_" + signal + "_EXPORTER"
	wanted := ofSignal(signal, "ENDPOINT") != ""
	if list := variable(exporter); list != "" {
		wanted = false
		for _, name := range strings.Split(list, ",") {
			switch name := strings.TrimSpace(name); name {
			case "otlp":
				wanted = true
			case "none", "":
			default:
				x.warn(fmt.Sprintf("%s names %q, which is not known here: write otlp or none", exporter, name))
			}
		}
	}
	if !wanted {
		return ""
	}
	switch protocol := ofSignal(signal, "PROTOCOL"); protocol {
	case "", overHTTP:
		return overHTTP
	case overGRPC:
		return overGRPC
	default:
		x.warn(fmt.Sprintf("no %s are sent over %q: set OTEL_EXPORTER_OTLP_PROTOCOL to %s or %s", strings.ToLower(signal), protocol, overHTTP, overGRPC))
		return ""
	}
}

// credentials are the texts of the environment that no warning may repeat:
// headers, which hold keys, and who logs in at an endpoint.
func credentials() []string {
	var all []string
	for _, signal := range []string{"", "TRACES_", "METRICS_"} {
		for _, header := range strings.Split(variable("OTEL_EXPORTER_OTLP_"+signal+"HEADERS"), ",") {
			_, value, _ := strings.Cut(header, "=")
			if value = strings.TrimSpace(value); value == "" {
				continue
			}
			all = append(all, value)
			if plain, err := url.PathUnescape(value); err == nil && plain != value {
				all = append(all, plain)
			}
		}
		if u, err := url.Parse(variable("OTEL_EXPORTER_OTLP_" + signal + "ENDPOINT")); err == nil && u.User != nil {
			all = append(all, u.User.String())
			if password, ok := u.User.Password(); ok {
				all = append(all, password)
			}
		}
	}
	return all
}

// redact takes credentials out of a text for people.
func (x *Exporter) redact(text string) string {
	for _, secret := range x.secrets {
		text = strings.ReplaceAll(text, secret, "(sensitive)")
	}
	return text
}
