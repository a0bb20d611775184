import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createServer, type ServerOptions, type User } from './library.ts';

const admission = (plugins: readonly object[]): string =>
  JSON.stringify({ apiVersion: 'apiserver.config.orch.io/v1', kind: 'AdmissionConfiguration', plugins });
const podSecurity = (defaults: object) => ({
  ...{ apiVersion: 'pod-security.admission.config.orch.io/v1', kind: 'PodSecurityConfiguration' },
  defaults,
});

describe('options that JavaScript programs get wrong', () => {
  for (const [options, message] of [
    [{ nonsense: 1 }, /^nonsense is not an option; known: dialect, storage/],
    [{ constructor: 1 }, /^constructor is not an option/],
    [{ dialect: 'zzz' }, /^dialect must be one of orch, kubernetes, got "zzz"$/],
    [{ storage: { type: 'zz' } }, /^storage.backend must be one of memory, sqlite, etcd3, got undefined$/],
    [{ authorizers: ['RBAC', 'Nope'] }, /^authorizers\[1\] must be one of .*, got "Nope"$/],
    [{ eventTtlMs: '1h' }, /^eventTtlMs must be a number of milliseconds, got "1h"$/],
    [{ features: { Nonsense: true } }, /^features: there is no "Nonsense"$/],
    [{ features: { ServerSideApply: false } }, /^features: ServerSideApply is locked to true$/],
    [{ runtimeConfig: { 'nowhere/v1': true } }, /^runtimeConfig: there is no API "nowhere\/v1"$/],
    [{ runtimeConfig: { 'api/alpha': 'true' } }, /^runtimeConfig: api\/alpha must be true or false$/],
    [{ runtimeConfig: { 'api/all': false } }, /^runtimeConfig: invalid key with only api\/all=false/],
    [{ admissionConfiguration: '{' }, /^options:admissionConfiguration: /],
    [
      { admissionConfiguration: admission([{ name: 'PodSecurity', configuration: podSecurity({ enforce: 'x' }) }]) },
      /^options:admissionConfiguration: plugins\[0\]\.configuration: defaults\.enforce: Invalid value: "x"/,
    ],
    [
      { admissionConfiguration: admission([{ name: 'Nonsense', configuration: {} }]) },
      /^options:admissionConfiguration: plugins\[0\]\.name: Invalid value: "Nonsense": there is no such admission plugin$/,
    ],
    [
      { admissionConfiguration: admission([{ name: 'PodSecurity', path: '/none/here.yaml' }]) },
      /^options:admissionConfiguration: plugins\[0\]\.path: \/none\/here\.yaml: ENOENT/,
    ],
    [{ admissionPlugins: ['EventRateLimit'] }, /^admissionPlugins: EventRateLimit needs limits/],
    [{ requestTimeoutMs: -1 }, /^requestTimeoutMs must be/],
  ] as const) {
    it(JSON.stringify(options), () =>
      assert.rejects(createServer(options as unknown as ServerOptions), { name: 'TypeError', message }),
    );
  }

  it('users', async () => {
    await using server = await createServer();
    for (const user of ['bob', {}, null, { username: 1 }, { username: '' }] as unknown as readonly User[]) {
      for (const use of ['client', 'transport', 'kubeconfig'] as const) {
        assert.throws(() => server[use](user), { name: 'TypeError', message: /^a user must be an object/ }, use);
      }
    }
  });
});

it('requests after the end say that the server is closed', async () => {
  const server = await createServer();
  const before = server.client();
  await server.close();
  for (const client of [before, server.client()]) {
    await assert.rejects(client.get('/api/v1/namespaces'), /the server is closed/);
  }
});
