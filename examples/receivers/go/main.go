// Receives webhook deliveries and verifies their signatures, without dependencies.
//
//	WEBHOOK_SECRET=... PORT=8080 go run .        (Go 1.22 or newer)
//
// It listens on HOST (default: 127.0.0.1). It responds with 204 to genuine deliveries and with 401 to others.
package main

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	maxBodyBytes = 4 << 20
	remembered   = 100_000
)

// deliveries stores the accepted ones. In production, use a table with a unique column instead.
type deliveries struct {
	sync.Mutex
	accepted map[string]bool
	order    []string
}

// keep returns false if the delivery was accepted before.
func (d *deliveries) keep(id string) bool {
	d.Lock()
	defer d.Unlock()
	if d.accepted[id] {
		return false
	}
	d.accepted[id] = true
	d.order = append(d.order, id)
	if len(d.order) > remembered {
		delete(d.accepted, d.order[0])
		d.order = d.order[1:]
	}
	return true
}

// isGenuine checks two headers: during the rotation of a secret, the second contains the signature made with the old secret.
func isGenuine(secret, body []byte, header http.Header) bool {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	expected := []byte("sha256=" + hex.EncodeToString(mac.Sum(nil)))
	now := hmac.Equal(expected, []byte(header.Get("X-Service-Signature")))
	previous := hmac.Equal(expected, []byte(header.Get("X-Service-Signature-Previous")))
	return now || previous
}

// receive returns the status of the response. Respond as soon as the event is stored, and process it afterwards.
func receive(secret []byte, known *deliveries, w http.ResponseWriter, r *http.Request) int {
	// The signature covers the raw bytes.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		return http.StatusRequestEntityTooLarge
	}
	if !isGenuine(secret, body, r.Header) {
		return http.StatusUnauthorized
	}
	var event struct{ ID, Event, Timestamp string }
	if json.Unmarshal(body, &event) != nil {
		return http.StatusBadRequest
	}
	if delivery := r.Header.Get("X-Service-Delivery"); known.keep(delivery) {
		fmt.Printf("event %s %s of %s in delivery %s\n", event.Event, event.ID, event.Timestamp, delivery)
	} else {
		fmt.Printf("again %s\n", delivery)
	}
	return http.StatusNoContent
}

func main() {
	secret := []byte(os.Getenv("WEBHOOK_SECRET"))
	if len(secret) == 0 {
		log.Fatal("Set WEBHOOK_SECRET to the secret of your webhook")
	}
	listener, err := net.Listen("tcp", cmp.Or(os.Getenv("HOST"), "127.0.0.1")+":"+cmp.Or(os.Getenv("PORT"), "8080"))
	if err != nil {
		log.Fatal(err)
	}
	known := &deliveries{accepted: map[string]bool{}}
	http.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(receive(secret, known, w, r))
	})
	fmt.Printf("listening at http://%s\n", listener.Addr())
	log.Fatal((&http.Server{ReadTimeout: 30 * time.Second}).Serve(listener))
}
