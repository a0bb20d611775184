// Starts a test environment by controller-runtime's envtest, and does the script of ../README.md in it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func step(name string, err error) {
	if err != nil {
		fmt.Printf("failed %s: %v\n", name, err)
		os.Exit(1)
	}
	fmt.Println("ok", name)
}

func main() {
	definition, err := filepath.Abs(os.Args[1])
	if err != nil {
		panic(err)
	}
	environment := &envtest.Environment{}
	config, err := environment.Start()
	step("start", err)
	err = script(environment, config, definition)
	stopped := environment.Stop()
	if err != nil {
		os.Exit(1)
	}
	step("stop", stopped)
}

func script(environment *envtest.Environment, config *rest.Config, definition string) error {
	ctx := context.Background()
	report := func(name string, err error) bool {
		if err != nil {
			fmt.Printf("failed %s: %v\n", name, err)
		} else {
			fmt.Println("ok", name)
		}
		return err == nil
	}
	failed := errors.New("a step failed")
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: []string{definition}, ErrorIfPathMissing: true})
	if !report("definition", err) {
		return failed
	}
	admin, err := client.New(config, client.Options{})
	if err != nil {
		report("client", err)
		return failed
	}
	if !report("custom", custom(ctx, admin)) || !report("deployment", deployment(ctx, admin)) {
		return failed
	}
	if !report("user", user(ctx, environment, admin)) {
		return failed
	}
	return nil
}

// Creates, reads, changes and deletes an object of the kind that was installed.
func custom(ctx context.Context, admin client.Client) error {
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1",
		"kind":       "Widget",
		"metadata":   map[string]any{"name": "one", "namespace": "default"},
		"spec":       map[string]any{"size": int64(1)},
	}}
	if err := admin.Create(ctx, widget); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(widget.Object, int64(2), "spec", "size"); err != nil {
		return err
	}
	if err := admin.Update(ctx, widget); err != nil {
		return err
	}
	read := widget.DeepCopy()
	if err := admin.Get(ctx, client.ObjectKeyFromObject(widget), read); err != nil {
		return err
	}
	if size, _, _ := unstructured.NestedInt64(read.Object, "spec", "size"); size != 2 {
		return fmt.Errorf("size is %d", size)
	}
	if err := admin.Delete(ctx, read); err != nil {
		return err
	}
	if err := admin.Get(ctx, client.ObjectKeyFromObject(widget), read); !apierrors.IsNotFound(err) {
		return fmt.Errorf("after the deletion: %v", err)
	}
	wrong := widget.DeepCopy()
	wrong.SetResourceVersion("")
	_ = unstructured.SetNestedField(wrong.Object, "large", "spec", "size")
	if err := admin.Create(ctx, wrong); !apierrors.IsInvalid(err) {
		return fmt.Errorf("a size that is text: %v", err)
	}
	return nil
}

func deployment(ctx context.Context, admin client.Client) error {
	labels := map[string]string{"app": "web"}
	object := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}
	if err := admin.Create(ctx, object); err != nil {
		return err
	}
	if object.Spec.Replicas == nil || *object.Spec.Replicas != 1 {
		return fmt.Errorf("replicas: %v", object.Spec.Replicas)
	}
	return admin.Delete(ctx, object)
}

// Adds a user, who may do nothing, and then what a role allows; by the client and by the command line.
func user(ctx context.Context, environment *envtest.Environment, admin client.Client) error {
	jane, err := environment.AddUser(envtest.User{Name: "jane", Groups: []string{"readers"}}, nil)
	if err != nil {
		return err
	}
	own, err := client.New(jane.Config(), client.Options{})
	if err != nil {
		return err
	}
	if err := own.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("default")); !apierrors.IsForbidden(err) {
		return fmt.Errorf("without a role: %v", err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers", Namespace: "default"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}
	binding.RoleRef.Name = role.Name
	if err := admin.Create(ctx, role); err != nil {
		return err
	}
	if err := admin.Create(ctx, binding); err != nil {
		return err
	}
	if err := own.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("default")); err != nil {
		return fmt.Errorf("with a role: %w", err)
	}
	if _, err := os.Stat(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")); err != nil {
		return nil
	}
	kubectl, err := jane.Kubectl()
	if err != nil {
		return err
	}
	if _, stderr, err := kubectl.Run("get", "configmaps"); err != nil {
		return fmt.Errorf("kubectl: %w: %v", err, stderr)
	}
	return nil
}
