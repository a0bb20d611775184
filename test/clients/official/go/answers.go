package main

import (
	"fmt"
	"net/http"
	"strings"
)

// answers fails each request to a namespace that is answered in another media type than was asked for: a client that falls back
// to another one would pass unnoticed.
type answers struct {
	mediaType string
	next      http.RoundTripper
}

func (a *answers) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	if err != nil || !strings.Contains(request.URL.Path, "/namespaces/") {
		return response, err
	}
	// As a prefix: the media type of a watch says how its events are framed, too (application/cbor-seq).
	if got := response.Header.Get("Content-Type"); !strings.HasPrefix(got, a.mediaType) {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%s %s is answered in %q, not %s", request.Method, request.URL.Path, got, a.mediaType)
	}
	return response, nil
}
