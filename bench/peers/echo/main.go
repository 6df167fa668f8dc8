// Command echo measures what the machine charges for a document that goes from
// one process to another and back: a gRPC stream on a unix socket, so many
// messages at once on their way, one document a message.
//
// bench/run starts it; it starts itself once more as the other process. Nothing
// is decoded, stored or decided: it is the floor under everything that visits
// another process. It refuses a document that comes back with another length.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const method = "/bench.Echo/Stream"

func main() {
	messages := flag.Int("n", 100000, "documents")
	window := flag.Int("window", 256, "documents on their way at once")
	size := flag.Int("size", 2048, "bytes of a document")
	listen := flag.String("listen", "", "be the other process, on this socket")
	flag.Parse()
	log.SetFlags(0)
	var err error
	if *listen != "" {
		err = serve(*listen)
	} else {
		err = run(*messages, *window, *size)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run starts the other process and sends it documents.
func run(messages, window, size int) error {
	dir, err := os.MkdirTemp("", "echo")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	socket := filepath.Join(dir, "s")
	other := exec.Command(self, "-listen", socket)
	stdin, err := other.StdinPipe()
	if err != nil {
		return err
	}
	ready, err := other.StdoutPipe()
	if err != nil {
		return err
	}
	other.Stderr = os.Stderr
	if err := other.Start(); err != nil {
		return err
	}
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		return errors.Join(err, other.Wait())
	}
	err = exchange(socket, messages, window, make([]byte, size))
	return errors.Join(err, stdin.Close(), other.Wait()) // its stdin's end ends it; then its CPU is in our account
}

func exchange(socket string, messages, window int, document []byte) error {
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := conn.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	room := make(chan struct{}, window)
	go func() {
		for range messages {
			room <- struct{}{}
			if stream.SendMsg(&wrapperspb.BytesValue{Value: document}) != nil {
				return // the receiver learns the cause
			}
		}
	}()
	for n := range messages {
		var back wrapperspb.BytesValue
		if err := stream.RecvMsg(&back); err != nil {
			return err
		}
		if len(back.Value) != len(document) {
			return fmt.Errorf("document %d came back with %d bytes, not %d", n, len(back.Value), len(document))
		}
		<-room
	}
	return nil
}

// serve sends back what comes, until stdin ends.
func serve(socket string) error {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Echo", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Stream", Handler: back, ServerStreams: true, ClientStreams: true}},
	}, struct{}{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Stop()
	}()
	fmt.Print("+")
	return server.Serve(listener)
}

func back(_ any, stream grpc.ServerStream) error {
	for {
		var document wrapperspb.BytesValue
		if err := stream.RecvMsg(&document); err != nil {
			return nil // the other end is done
		}
		if err := stream.SendMsg(&document); err != nil {
			return err
		}
	}
}
