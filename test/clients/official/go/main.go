// Package main does the script of ../README.md with client-go: the typed clientset, its apply configurations and an informer
// factory.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	stepTime = 60 * time.Second
	// waitTime is the deadline of each condition that is waited for.
	waitTime = 30 * time.Second
)

// script is what the steps share.
type script struct {
	config    *rest.Config
	clientset kubernetes.Interface
	namespace string
	// uid of the object that most steps are about.
	uid types.UID
	// resourceVersion from before the last update, for the step conflict.
	staleVersion string
	informer     *configMapInformer
}

type step struct {
	name string
	run  func(*script, context.Context) error
}

var steps = []step{
	{"discovery", (*script).discovery},
	{"create", (*script).create},
	{"get", (*script).get},
	{"update", (*script).update},
	{"conflict", (*script).conflict},
	{"patch", (*script).patch},
	{"apply", (*script).apply},
	{"list", (*script).list},
	{"pagination", (*script).pagination},
	{"watch", (*script).watch},
	{"token-request", (*script).tokenRequest},
	{"access-review", (*script).accessReview},
	{"ready-for-restart", (*script).readyForRestart},
	{"restart", (*script).restart},
	{"delete", (*script).delete},
	{"errors", (*script).errors},
}

func main() {
	contentType := flag.String("content-type", "", "media type of bodies; absent: the client's default")
	mediaType := flag.String("answers", "", "media type in which the server must answer; absent: any")
	flag.Parse()
	if err := run(*contentType, *mediaType); err != nil {
		os.Exit(1)
	}
}

func run(contentType, mediaType string) error {
	script, err := newScript(contentType, mediaType)
	if err != nil {
		return report(steps[0].name, err)
	}
	defer script.close()
	for _, step := range steps {
		ctx, cancel := context.WithTimeout(context.Background(), stepTime)
		err := step.run(script, ctx)
		cancel()
		if err := report(step.name, err); err != nil {
			return err
		}
	}
	return nil
}

func newScript(contentType, mediaType string) (*script, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	config.ContentType = contentType
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &answers{mediaType, next} })
	// 250 objects one after the other would take a minute at the default of 5 a second.
	config.QPS, config.Burst = 200, 400
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &script{config: config, clientset: clientset, namespace: os.Getenv("NAMESPACE")}, nil
}

func (s *script) close() {
	if s.informer != nil {
		s.informer.stop()
	}
}

type line struct {
	Step  string `json:"step"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// report prints the line of a step and returns its error.
func report(step string, err error) error {
	line := line{Step: step, OK: err == nil}
	if err != nil {
		line.Error = err.Error()
	}
	if printed := json.NewEncoder(os.Stdout).Encode(line); printed != nil {
		return printed
	}
	return err
}

// expect compares what a server answered with what it should be.
func expect[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, not %v", what, got, want)
	}
	return nil
}
