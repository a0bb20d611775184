"""An admission webhook over TLS, with the standard library alone. See ../README.md."""

import argparse
import base64
import http.server
import json
import ssl


def mutate(protocol, _config_map):
    patch = [{"op": "add", "path": "/data/judged", "value": "Python, " + protocol}]
    return {
        "allowed": True,
        "patchType": "JSONPatch",
        "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
        "warnings": ["judged by Python"],
    }


def validate(_protocol, config_map):
    if "forbidden" not in (config_map.get("data") or {}):
        return {"allowed": True}
    return {"allowed": False, "status": {"code": 422, "reason": "Invalid", "message": "it is forbidden"}}


JUDGES = {"/mutate": mutate, "/validate": validate}


class Webhook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        judge = JUDGES[self.path.split("?")[0]]
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = review["request"]
        response = judge(self.request_version, request["object"])
        answer = {
            "apiVersion": review["apiVersion"],
            "kind": "AdmissionReview",
            "response": {"uid": request["uid"], **response},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-certificate", required=True)
    parser.add_argument("-key", required=True)
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Webhook)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.certificate, options.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
