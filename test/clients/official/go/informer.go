package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listerscorev1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// configMapInformer follows the ConfigMaps of a namespace until it is stopped.
type configMapInformer struct {
	factory informers.SharedInformerFactory
	lister  listerscorev1.ConfigMapNamespaceLister
	changes chan change
	cancel  context.CancelFunc
}

// change is what an event handler was told of an object.
type change struct{ event, name, colour string }

// changesMax is above the number of objects of the whole script, so that no event handler waits.
const changesMax = 10_000

func startInformer(clientset kubernetes.Interface, namespace string) (*configMapInformer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithNamespace(namespace))
	configMaps := factory.Core().V1().ConfigMaps()
	changes := make(chan change, changesMax)
	tell := func(event string, object any) {
		if configMap, ok := object.(*corev1.ConfigMap); ok {
			changes <- change{event, configMap.Name, configMap.Data["colour"]}
		}
	}
	registration, err := configMaps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell("added", object) },
		UpdateFunc: func(_, object any) { tell("modified", object) },
		DeleteFunc: func(object any) { tell("deleted", object) },
	})
	if err != nil {
		cancel()
		return nil, err
	}
	informer := &configMapInformer{factory, configMaps.Lister().ConfigMaps(namespace), changes, cancel}
	factory.Start(ctx.Done())
	synced, cancelSynced := context.WithTimeout(ctx, waitTime)
	defer cancelSynced()
	if !cache.WaitForCacheSync(synced.Done(), registration.HasSynced) {
		informer.stop()
		return nil, fmt.Errorf("the informer has not synced in %v", waitTime)
	}
	return informer, nil
}

// wait returns once the handlers were told of the change.
func (i *configMapInformer) wait(ctx context.Context, wanted change) error {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	for {
		select {
		case seen := <-i.changes:
			if seen == wanted {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("the informer does not tell of %v: %w", wanted, ctx.Err())
		}
	}
}

// stop ends the informer and waits for its goroutines.
func (i *configMapInformer) stop() {
	i.cancel()
	i.factory.Shutdown()
}

func (s *script) watch(ctx context.Context) error {
	informer, err := startInformer(s.clientset, s.namespace)
	if err != nil {
		return err
	}
	s.informer = informer
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "watched"}, Data: map[string]string{"colour": "red"}}
	created, err := s.configMaps().Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := informer.wait(ctx, change{"added", "watched", "red"}); err != nil {
		return err
	}
	created.Data["colour"] = "blue"
	if _, err := s.configMaps().Update(ctx, created, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := informer.wait(ctx, change{"modified", "watched", "blue"}); err != nil {
		return err
	}
	if err := s.configMaps().Delete(ctx, "watched", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return informer.wait(ctx, change{"deleted", "watched", "blue"})
}

func (s *script) readyForRestart(context.Context) error { return nil }

func (s *script) restart(ctx context.Context) error {
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return err
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(line), "restarted ")
	if !ok {
		return fmt.Errorf("unexpected on standard input: %q", line)
	}
	if err := wait.PollUntilContextTimeout(ctx, waitTime/1000, waitTime, true, func(context.Context) (bool, error) {
		_, err := s.informer.lister.Get(name)
		return err == nil, nil
	}); err != nil {
		return fmt.Errorf("the informer does not tell of %s: %w", name, err)
	}
	_, err = s.configMaps().Get(ctx, name, metav1.GetOptions{})
	return err
}
