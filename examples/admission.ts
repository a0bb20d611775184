// Those who run a platform decide what may be stored: a policy refuses objects by expressions, and a webhook of one's own adds
// to them. The webhook is in this process, as is the server; with a connection to a server that runs, the rest stays the same.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { ApiError, type ApiObject, createServer } from 'orch';

const group = 'admissionregistration.orch.io';
const configMaps = '/api/v1/namespaces/default/configmaps';
const rules = (...operations: string[]) => [
  { operations, apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
];

/** What the webhook is asked, as far as it looks at it. */
interface Review {
  apiVersion: string;
  kind: string;
  request: { uid: string; object: ApiObject; userInfo: { username: string } };
}

/** Says who made an object. The patch is a list of operations (RFC 6902), in base64. */
function judge({ apiVersion, kind, request }: Review) {
  const { uid, object, userInfo } = request;
  const made = { 'example.com/made-by': userInfo.username };
  const patch = object.metadata.annotations
    ? [{ op: 'add', path: '/metadata/annotations/example.com~1made-by', value: userInfo.username }]
    : [{ op: 'add', path: '/metadata/annotations', value: made }];
  const encoded = Buffer.from(JSON.stringify(patch)).toString('base64');
  return { apiVersion, kind, response: { uid, allowed: true, patchType: 'JSONPatch', patch: encoded } };
}

const directory = mkdtempSync(join(tmpdir(), 'orch-example-'));
const [key, certificate] = [join(directory, 'webhook.key'), join(directory, 'webhook.crt')];
const subject = ['-subj', '/CN=webhook', '-addext', 'subjectAltName=IP:127.0.0.1'];
const files = ['-keyout', key, '-out', certificate];
const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...subject, ...files];
execFileSync('openssl', request, { stdio: 'ignore' });
const webhook = https.createServer(
  { key: readFileSync(key), cert: readFileSync(certificate) },
  async (asked, answer) => {
    answer.setHeader('content-type', 'application/json');
    answer.end(JSON.stringify(judge((await json(asked)) as Review)));
  },
);
await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve));
const url = `https://127.0.0.1:${(webhook.address() as AddressInfo).port}/made-by`;

await using server = await createServer();
const admin = server.client();

console.log('--- the webhook is called for config maps that are created');
await admin.create(`/apis/${group}/v1/mutatingwebhookconfigurations`, {
  metadata: { name: 'made-by' },
  webhooks: [
    {
      name: 'made-by.example.com',
      clientConfig: { url, caBundle: readFileSync(certificate).toString('base64') },
      rules: rules('CREATE'),
      // Objects can be made without it. Whoever makes them does not wait for it for longer than this.
      failurePolicy: 'Ignore',
      timeoutSeconds: 2,
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    },
  ],
});
const made = await admin.create(configMaps, { metadata: { name: 'settings' }, data: { colour: 'green' } });
console.log(made.metadata.annotations);
assert.ok(made.metadata.annotations?.['example.com/made-by']);

console.log(
  '--- a policy says which colours there are, and its binding puts it into force; examples/policy.sh has more of them',
);
await admin.create(`/apis/${group}/v1/validatingadmissionpolicies`, {
  metadata: { name: 'colours' },
  spec: {
    matchConstraints: { resourceRules: rules('CREATE', 'UPDATE') },
    variables: [
      { name: 'colour', expression: "has(object.data) && 'colour' in object.data ? object.data.colour : 'green'" },
    ],
    validations: [
      {
        expression: "variables.colour in ['green', 'blue']",
        messageExpression: "'there is no ' + variables.colour + ' here'",
      },
    ],
  },
});
await admin.create(`/apis/${group}/v1/validatingadmissionpolicybindings`, {
  metadata: { name: 'colours' },
  spec: { policyName: 'colours', validationActions: ['Deny'] },
});
await admin.mergePatch(`${configMaps}/settings`, { data: { colour: 'blue' } });
await assert.rejects(admin.mergePatch(`${configMaps}/settings`, { data: { colour: 'red' } }), (error) => {
  assert.ok(error instanceof ApiError);
  console.log(error.message);
  return error.code === 422;
});

console.log('--- without the webhook nothing is lost: it may be ignored');
await new Promise((resolve) => {
  webhook.close(resolve);
  webhook.closeAllConnections();
});
const plain = await admin.create(configMaps, { metadata: { name: 'plain' } });
assert.equal(plain.metadata.annotations, undefined);
rmSync(directory, { recursive: true });
