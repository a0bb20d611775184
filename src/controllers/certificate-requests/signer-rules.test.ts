import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { describe, it } from 'node:test';
import type { CertificateRequest } from '../../pki/certificate-request.ts';
import { generateKey } from '../../pki/keys.ts';
import { signerRules } from './signer-rules.ts';

const publicKey = createPublicKey(generateKey());
const node: CertificateRequest = {
  ...{ subjectDer: Buffer.alloc(0), publicKey, signatureProblem: undefined },
  ...{ commonNames: ['system:node:n1'], organizations: ['system:nodes'] },
  ...{ dnsNames: [], ipAddresses: [], emailAddresses: [], uris: [] },
};
const names = {
  dns: { dnsNames: ['n1'] },
  ip: { ipAddresses: ['10.0.0.1'] },
  email: { emailAddresses: ['a@b'] },
  uri: { uris: ['a:b'] },
};
const serving = { ...node, ...names.dns };

const [signature, encipherment, forClients, forServers] = [
  'digital signature',
  'key encipherment',
  'client auth',
  'server auth',
];
const clients = [encipherment, signature, forClients];
const servers = [encipherment, signature, forServers];
const organization = 'subject organization is not system:nodes';
const commonName = 'subject common name does not begin with system:node:';
const clientUsages = 'usages did not match [client auth digital signature key encipherment]';
const servingUsages = 'usages did not match [digital signature key encipherment server auth]';
const notAllowed = (kind: string): string => `${kind} subjectAltNames are not allowed`;

const subjects = [
  ['no organization', { organizations: [] }, organization],
  ['another organization', { organizations: ['system:masters'] }, organization],
  ['a second organization', { organizations: ['system:nodes', 'system:masters'] }, organization],
  ['the organization twice', { organizations: ['system:nodes', 'system:nodes'] }, organization],
  ['no common name', { commonNames: [] }, commonName],
  ['another common name', { commonNames: ['jane'] }, commonName],
  ['two common names', { commonNames: ['system:node:n1', 'system:node:n2'] }, commonName],
  ['a common name in other letters', { commonNames: ['System:Node:n1'] }, commonName],
] as const;

const rows: Readonly<
  Record<keyof typeof signerRules, readonly (readonly [string, CertificateRequest, readonly string[], string?])[]>
> = {
  client: [
    ['every usage that is allowed', node, clients],
    ['client authentication alone', node, [forClients]],
    [
      'any subject and name',
      { ...node, ...names.dns, ...names.uri, commonNames: ['jane'], organizations: [] },
      [forClients],
    ],
    ['no usage', node, [], 'missing required usage for client certificate: client auth'],
    ['no client authentication', node, [signature], 'missing required usage for client certificate: client auth'],
    ['server authentication', node, [forClients, forServers], 'invalid usage for client certificate: server auth'],
    ['any extended usage', node, [forClients, 'any'], 'invalid usage for client certificate: any'],
    ['signing certificates', node, [forClients, 'cert sign'], 'invalid usage for client certificate: cert sign'],
  ],
  nodeClient: [
    ['all usages', node, clients],
    ['without key encipherment', node, [forClients, signature]],
    ...subjects.map(([what, more, problem]) => [what, { ...node, ...more }, clients, problem] as const),
    ['a DNS name', { ...node, ...names.dns }, clients, notAllowed('DNS')],
    ['an IP address', { ...node, ...names.ip }, clients, notAllowed('IP')],
    ['an e-mail address', { ...node, ...names.email }, clients, notAllowed('Email')],
    ['a URI', { ...node, ...names.uri }, clients, notAllowed('URI')],
    ['one usage more', node, [...clients, forServers], clientUsages],
    ['no client authentication', node, [signature, encipherment], clientUsages],
    ['no digital signature', node, [encipherment, forClients], clientUsages],
    ['usages of servers', node, servers, clientUsages],
    ['no usages', node, [], clientUsages],
  ],
  nodeServing: [
    ['all usages', serving, servers],
    ['without key encipherment', serving, [forServers, signature]],
    ['an IP address alone', { ...node, ...names.ip }, servers],
    ['both', { ...serving, ...names.ip }, servers],
    ...subjects.map(([what, more, problem]) => [what, { ...serving, ...more }, servers, problem] as const),
    ['no name', node, servers, 'DNS or IP subjectAltName is required'],
    ['an e-mail address', { ...serving, ...names.email }, servers, notAllowed('Email')],
    ['a URI', { ...serving, ...names.uri }, servers, notAllowed('URI')],
    ['an e-mail address alone', { ...node, ...names.email }, servers, 'DNS or IP subjectAltName is required'],
    ['usages of clients', serving, clients, servingUsages],
    ['both usages', serving, [...servers, forClients], servingUsages],
    ['no usages', serving, [], servingUsages],
  ],
};

for (const [signer, requests] of Object.entries(rows)) {
  describe(`the rules of the signer ${signer}`, () => {
    for (const [what, request, usages, problem] of requests) {
      it(`${what}: ${problem ?? 'signed'}`, () =>
        assert.equal(signerRules[signer as keyof typeof signerRules](request, usages), problem));
    }
  });
}
