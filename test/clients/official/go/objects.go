package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const objectName = "settings"

func (s *script) configMaps() typedcorev1.ConfigMapInterface {
	return s.clientset.CoreV1().ConfigMaps(s.namespace)
}

func (s *script) discovery(context.Context) error {
	client := s.clientset.Discovery()
	version, err := client.ServerVersion()
	if err != nil {
		return err
	}
	groups, err := client.ServerGroups()
	if err != nil {
		return err
	}
	resources, err := client.ServerResourcesForGroupVersion("v1")
	if err != nil {
		return err
	}
	coordination := slices.IndexFunc(groups.Groups, func(group metav1.APIGroup) bool { return group.Name == "coordination.k8s.io" })
	if coordination < 0 {
		return fmt.Errorf("no group coordination.k8s.io among %v", groups.Groups)
	}
	at := slices.IndexFunc(resources.APIResources, func(resource metav1.APIResource) bool { return resource.Name == "configmaps" })
	if at < 0 {
		return fmt.Errorf("no resource configmaps among %v", resources.APIResources)
	}
	return errors.Join(
		expect("server version", version.Major+"."+version.Minor, "1.32"),
		expect("preferred version", groups.Groups[coordination].PreferredVersion.Version, "v1"),
		expect("kind of configmaps", resources.APIResources[at].Kind, "ConfigMap"),
		expect("namespaced", resources.APIResources[at].Namespaced, true),
	)
}

func (s *script) create(ctx context.Context) error {
	created, err := s.configMaps().Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: objectName},
		Data:       map[string]string{"colour": "red", "size": "small"},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	s.uid = created.UID
	return errors.Join(
		expect("colour", created.Data["colour"], "red"),
		expect("has a uid", created.UID != "", true),
		expect("has a resourceVersion", created.ResourceVersion != "", true),
	)
}

func (s *script) get(ctx context.Context) error {
	object, err := s.configMaps().Get(ctx, objectName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return errors.Join(
		expect("uid", object.UID, s.uid),
		expect("data", maps.Equal(object.Data, map[string]string{"colour": "red", "size": "small"}), true),
	)
}

func (s *script) update(ctx context.Context) error {
	object, err := s.configMaps().Get(ctx, objectName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	s.staleVersion = object.ResourceVersion
	changed := object.DeepCopy()
	changed.Data["colour"] = "blue"
	updated, err := s.configMaps().Update(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	return errors.Join(
		expect("colour", updated.Data["colour"], "blue"),
		expect("uid", updated.UID, s.uid),
		expect("has another resourceVersion", updated.ResourceVersion != s.staleVersion, true),
	)
}

func (s *script) conflict(ctx context.Context) error {
	_, err := s.configMaps().Update(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: objectName, ResourceVersion: s.staleVersion},
		Data:       map[string]string{"colour": "green"},
	}, metav1.UpdateOptions{})
	if !apierrors.IsConflict(err) {
		return fmt.Errorf("an update of an old version: %w", orNone(err))
	}
	object, err := s.configMaps().Get(ctx, objectName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return expect("colour", object.Data["colour"], "blue")
}

func (s *script) patch(ctx context.Context) error {
	merge := []byte(`{"data":{"shape":"round","size":null}}`)
	patched, err := s.configMaps().Patch(ctx, objectName, types.MergePatchType, merge, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	if want := map[string]string{"colour": "blue", "shape": "round"}; !maps.Equal(patched.Data, want) {
		return fmt.Errorf("data is %v, not %v", patched.Data, want)
	}
	return s.strategicPatch(ctx)
}

func (s *script) strategicPatch(ctx context.Context) error {
	accounts := s.clientset.CoreV1().ServiceAccounts(s.namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "patched"}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	var names []string
	for _, secret := range []string{"one", "two"} {
		patch := fmt.Appendf(nil, `{"secrets":[{"name":%q}]}`, secret)
		patched, err := accounts.Patch(ctx, account.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		names = nil
		for _, reference := range patched.Secrets {
			names = append(names, reference.Name)
		}
	}
	slices.Sort(names)
	return expect("secrets", fmt.Sprint(names), "[one two]")
}

func (s *script) apply(ctx context.Context) error {
	applied := func(colour string, options metav1.ApplyOptions) (*corev1.ConfigMap, error) {
		desired := applycorev1.ConfigMap("applied", s.namespace).WithData(map[string]string{"colour": colour})
		return s.configMaps().Apply(ctx, desired, options)
	}
	first, err := applied("red", metav1.ApplyOptions{FieldManager: "first"})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(first.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == "first" && entry.Operation == metav1.ManagedFieldsOperationApply
	}) {
		return fmt.Errorf("the manager first is not among %v", first.ManagedFields)
	}
	if _, err = applied("blue", metav1.ApplyOptions{FieldManager: "second"}); !apierrors.IsConflict(err) {
		return fmt.Errorf("an apply of another's field: %w", orNone(err))
	}
	forced, err := applied("blue", metav1.ApplyOptions{FieldManager: "second", Force: true})
	if err != nil {
		return err
	}
	return expect("colour", forced.Data["colour"], "blue")
}

func (s *script) list(ctx context.Context) error {
	for name, tier := range map[string]string{"list-1": "front", "list-2": "front", "list-3": "back"} {
		if err := s.createLabelled(ctx, name, map[string]string{"tier": tier}); err != nil {
			return err
		}
	}
	found, err := s.configMaps().List(ctx, metav1.ListOptions{LabelSelector: "tier=front"})
	if err != nil {
		return err
	}
	return expect("names", fmt.Sprint(namesOf(found)), "[list-1 list-2]")
}

func (s *script) pagination(ctx context.Context) error {
	const objects = 250
	for i := range objects {
		if err := s.createLabelled(ctx, fmt.Sprintf("page-%03d", i), map[string]string{"paged": "true"}); err != nil {
			return err
		}
	}
	var pages []int
	seen := map[string]bool{}
	options := metav1.ListOptions{LabelSelector: "paged=true", Limit: 100}
	for {
		page, err := s.configMaps().List(ctx, options)
		if err != nil {
			return err
		}
		pages = append(pages, len(page.Items))
		for _, name := range namesOf(page) {
			if seen[name] {
				return fmt.Errorf("%s comes twice", name)
			}
			seen[name] = true
		}
		if page.Continue == "" {
			break
		}
		options.Continue = page.Continue
	}
	return errors.Join(
		expect("pages", fmt.Sprint(pages), "[100 100 50]"),
		expect("names", len(seen), objects),
	)
}

func (s *script) delete(ctx context.Context) error {
	if err := s.configMaps().Delete(ctx, objectName, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if _, err := s.configMaps().Get(ctx, objectName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("a GET of what is deleted: %w", orNone(err))
	}
	return nil
}

func (s *script) errors(ctx context.Context) error {
	err := s.createLabelled(ctx, "Not_A_Name", nil)
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		return fmt.Errorf("an invalid name: %w", orNone(err))
	}
	if details := status.Status().Details; details == nil || !slices.ContainsFunc(details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "metadata.name"
	}) {
		return fmt.Errorf("no cause names metadata.name: %v", details)
	}
	return expect("code", status.Status().Code, 422)
}

func (s *script) createLabelled(ctx context.Context, name string, labels map[string]string) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	_, err := s.configMaps().Create(ctx, object, metav1.CreateOptions{})
	return err
}

func namesOf(list *corev1.ConfigMapList) []string {
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names
}

var errNone = errors.New("no error came")

// orNone makes the absence of an error an error.
func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}
