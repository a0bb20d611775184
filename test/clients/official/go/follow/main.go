// Package main follows resources with client-go's dynamic informers, as ../../README.md says under Followers.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// waitTime is how long the first lists may take.
const waitTime = 30 * time.Second

func main() {
	if err := follow(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func follow(resources []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	lines := &lines{encoder: json.NewEncoder(os.Stdout)}
	var synced []cache.InformerSynced
	for _, resource := range resources {
		gvr, _ := schema.ParseResourceArg(resource)
		if gvr == nil {
			cancel()
			return fmt.Errorf("not a resource with a version and a group: %q", resource)
		}
		handle, err := factory.ForResource(*gvr).Informer().AddEventHandler(lines.handler(resource))
		if err != nil {
			cancel()
			return err
		}
		synced = append(synced, handle.HasSynced)
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	listed, cancelListed := context.WithTimeout(ctx, waitTime)
	defer cancelListed()
	if !cache.WaitForCacheSync(listed.Done(), synced...) {
		return fmt.Errorf("the informers have not synced in %v", waitTime)
	}
	lines.print(line{Event: "synced"})
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

type line struct {
	Event           string `json:"event"`
	Resource        string `json:"resource,omitempty"`
	Name            string `json:"name,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// lines prints what the handlers of all informers are told.
type lines struct {
	mutex   sync.Mutex
	encoder *json.Encoder
}

func (l *lines) print(line line) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	// Without a reader the harness is gone, and this program is about to be.
	_ = l.encoder.Encode(line)
}

func (l *lines) handler(resource string) cache.ResourceEventHandler {
	tell := func(event string, object any) {
		if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		if seen, ok := object.(*unstructured.Unstructured); ok {
			l.print(line{event, resource, seen.GetName(), seen.GetResourceVersion()})
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell("added", object) },
		UpdateFunc: func(_, object any) { tell("modified", object) },
		DeleteFunc: func(object any) { tell("deleted", object) },
	}
}
