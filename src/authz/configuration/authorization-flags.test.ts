import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AuthorizationFlags, authorizationFromFlags } from './authorization-flags.ts';

const none: AuthorizationFlags = {
  config: undefined,
  modes: undefined,
  policyFile: undefined,
  webhookConfigFile: undefined,
  webhookVersion: undefined,
  webhookAuthorizedTtlMs: undefined,
  webhookUnauthorizedTtlMs: undefined,
};
const fromFlags = (flags: Partial<AuthorizationFlags>) =>
  authorizationFromFlags({ ...none, ...flags }, ['AlwaysAllow']);

const webhook = {
  type: 'Webhook',
  name: 'default',
  connection: { type: 'file', file: 'hook.conf' },
  version: 'v1beta1',
  timeoutMs: 30_000,
  authorizedTtlMs: 300_000,
  unauthorizedTtlMs: 30_000,
  failurePolicy: 'NoOpinion',
};

describe('the chain configured by flags', () => {
  for (const [name, flags, expected] of [
    ['by default', {}, { type: 'flags', specs: [{ type: 'AlwaysAllow', name: 'alwaysallow' }], policyFile: undefined }],
    [
      'of several modes, in order',
      { modes: ['Node', 'ABAC', 'RBAC', 'AlwaysDeny'], policyFile: 'p' },
      {
        type: 'flags',
        specs: [
          { type: 'Node', name: 'node' },
          { type: 'ABAC', name: 'abac' },
          { type: 'RBAC', name: 'rbac' },
          { type: 'AlwaysDeny', name: 'alwaysdeny' },
        ],
        policyFile: 'p',
      },
    ],
    [
      'of a webhook',
      { modes: ['Webhook'], webhookConfigFile: 'hook.conf' },
      { type: 'flags', specs: [webhook], policyFile: undefined },
    ],
    [
      'of a webhook with all flags',
      {
        modes: ['Webhook'],
        webhookConfigFile: 'hook.conf',
        webhookVersion: 'v1',
        webhookAuthorizedTtlMs: 0,
        webhookUnauthorizedTtlMs: 1,
      },
      {
        type: 'flags',
        specs: [{ ...webhook, version: 'v1', authorizedTtlMs: 0, unauthorizedTtlMs: 1 }],
        policyFile: undefined,
      },
    ],
    ['of a file', { config: 'authz.yaml' }, { type: 'file', file: 'authz.yaml', policyFile: undefined }],
    [
      'of a file, with policies for it',
      { config: 'authz.yaml', policyFile: 'p' },
      { type: 'file', file: 'authz.yaml', policyFile: 'p' },
    ],
  ] as const) {
    it(name, () => assert.deepEqual(fromFlags(flags), expected));
  }
});

describe('invalid flags', () => {
  const config = 'authz.yaml';
  for (const [flags, problem] of [
    [{ modes: [] }, '--authorization-mode: at least one mode is needed'],
    [
      { modes: ['RBAC', 'rbac'] },
      '--authorization-mode: "rbac" is not one of AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC, Node',
    ],
    [{ modes: ['RBAC', 'Node', 'RBAC'] }, '--authorization-mode: RBAC stands there more than once'],
    [{ modes: ['ABAC'] }, '--authorization-mode: ABAC needs --authorization-policy-file'],
    [{ policyFile: 'p' }, '--authorization-policy-file needs the mode ABAC in --authorization-mode'],
    [{ modes: ['Webhook'] }, '--authorization-mode: Webhook needs --authorization-webhook-config-file'],
    [
      { modes: ['RBAC'], webhookConfigFile: 'h' },
      '--authorization-webhook-config-file needs the mode Webhook in --authorization-mode',
    ],
    [
      { modes: ['Webhook'], webhookConfigFile: 'h', webhookVersion: 'v2' },
      '--authorization-webhook-version: "v2" is not one of v1, v1beta1',
    ],
    [{ config, modes: ['RBAC'] }, '--authorization-config and --authorization-mode exclude each other'],
    [
      { config, webhookConfigFile: 'h' },
      '--authorization-config and --authorization-webhook-config-file exclude each other',
    ],
    [{ config, webhookVersion: 'v1' }, '--authorization-config and --authorization-webhook-version exclude each other'],
    [
      { config, webhookAuthorizedTtlMs: 1 },
      '--authorization-config and --authorization-webhook-cache-authorized-ttl exclude each other',
    ],
    [
      { config, webhookUnauthorizedTtlMs: 0 },
      '--authorization-config and --authorization-webhook-cache-unauthorized-ttl exclude each other',
    ],
  ] as const) {
    it(problem, () => assert.throws(() => fromFlags(flags), { message: problem }));
  }
});
