package main

import (
	"cmp"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
)

// beClient sends the request on standard input n times, so many at once, and
// prints what each took beyond the server's thinking.
func beClient(address string, n, atOnce int) error {
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = atOnce
	client := &http.Client{Transport: transport}
	each := make([]float64, n)
	errs := make([]error, atOnce)
	var next atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	for caller := range atOnce {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				asked := time.Now()
				thought, err := ask(client, address, body)
				if err != nil {
					errs[caller] = err
					return
				}
				each[i] = micros(time.Since(asked)) - thought
			}
		})
	}
	all.Wait()
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	return json.MarshalWrite(os.Stdout, took{Beyond: each, Wall: micros(time.Since(begun))})
}
