package main

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func (s *script) tokenRequest(ctx context.Context) error {
	accounts := s.clientset.CoreV1().ServiceAccounts(s.namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	answer, err := accounts.CreateToken(ctx, account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	config := rest.AnonymousClientConfig(s.config)
	config.BearerToken = answer.Status.Token
	robot, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	review, err := robot.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return expect("user", review.Status.UserInfo.Username, fmt.Sprintf("system:serviceaccount:%s:robot", s.namespace))
}

func (s *script) accessReview(ctx context.Context) error {
	attributes := &authorizationv1.ResourceAttributes{Namespace: s.namespace, Verb: "get", Resource: "configmaps"}
	own, err := s.clientset.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	strangers, err := s.clientset.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: attributes, User: "stranger"},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return errors.Join(
		expect("allowed to the administrator", own.Status.Allowed, true),
		expect("allowed to a stranger", strangers.Status.Allowed, false),
	)
}
