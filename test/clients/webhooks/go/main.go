// Command webhook is an admission webhook over TLS, with the types of k8s.io/api and the server of the standard library.
// See ../README.md.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func main() {
	certificate := flag.String("certificate", "", "file of the serving certificate")
	key := flag.String("key", "", "file of its key")
	flag.Parse()
	http.HandleFunc("POST /mutate", answering(mutate))
	http.HandleFunc("POST /validate", answering(validate))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	// The standard library offers HTTP/2 to whoever asks for it.
	log.Fatal(http.ServeTLS(listener, nil, *certificate, *key))
}

type judge func(r *http.Request, configMap *corev1.ConfigMap) (*admissionv1.AdmissionResponse, error)

func answering(judge judge) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
			http.Error(w, fmt.Sprintf("no AdmissionReview: %v", err), http.StatusBadRequest)
			return
		}
		var configMap corev1.ConfigMap
		if err := json.Unmarshal(review.Request.Object.Raw, &configMap); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		response, err := judge(r, &configMap)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		response.UID = review.Request.UID
		review.Request, review.Response = nil, response
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			log.Print(err)
		}
	}
}

func mutate(r *http.Request, _ *corev1.ConfigMap) (*admissionv1.AdmissionResponse, error) {
	patch, err := json.Marshal([]map[string]string{{"op": "add", "path": "/data/judged", "value": "Go, " + r.Proto}})
	if err != nil {
		return nil, err
	}
	kind := admissionv1.PatchTypeJSONPatch
	return &admissionv1.AdmissionResponse{Allowed: true, Patch: patch, PatchType: &kind, Warnings: []string{"judged by Go"}}, nil
}

func validate(_ *http.Request, configMap *corev1.ConfigMap) (*admissionv1.AdmissionResponse, error) {
	if _, forbidden := configMap.Data["forbidden"]; !forbidden {
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}
	status := metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "it is forbidden"}
	return &admissionv1.AdmissionResponse{Result: &status}, nil
}
