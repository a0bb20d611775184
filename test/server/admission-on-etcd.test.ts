import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type EtcdProcess, etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { AdmissionWebhook, ruleFor, webhookFor } from '../support/admission-webhook.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * Of two servers on one etcd, what is written at one counts at the other for the next request after the write was
 * acknowledged. Nothing here waits: each request follows the answer of the one before it.
 */

type Fields = Readonly<Record<string, unknown>>;
const group = 'admissionregistration.orch.io';
/** Of policies that mutate, which are off by default. */
const alpha = `${group}/v1alpha1`;
const maps = '/api/v1/namespaces/default/configmaps';
const rounds = 10;

interface Written {
  /** Default: v1. */
  readonly apiVersion?: string;
  readonly resource: string;
  readonly kind: string;
  readonly name: string;
  readonly content: Fields;
}

const apiVersionOf = ({ apiVersion = `${group}/v1` }: Written): string => apiVersion;
const path = (written: Written): string => `/apis/${apiVersionOf(written)}/${written.resource}`;

async function put(server: OrchProcess, written: Written): Promise<void> {
  const { kind, name, content } = written;
  const body = { apiVersion: apiVersionOf(written), kind, metadata: { name }, ...content };
  const { status, text } = await server.post(path(written), body);
  assert.equal(status, 201, text);
}

async function remove(server: OrchProcess, written: Written): Promise<void> {
  const { status, text } = await server.delete(`${path(written)}/${written.name}`);
  assert.equal(status, 200, text);
}

/** What the policies and webhooks make of a write. */
async function judged(server: OrchProcess, dataBytes = 1): Promise<string> {
  const body = { metadata: { name: 'x' }, data: { a: 'a'.repeat(dataBytes) } };
  const { status, json } = await server.post<{ message?: string; metadata: { labels?: Fields } }>(
    `${maps}?dryRun=All`,
    body,
  );
  if (status !== 201) return json.message ?? '';
  return Object.keys(json.metadata.labels ?? {}).join();
}

const policy = (name: string, more: Fields, expression = 'false'): Written => ({
  ...{ resource: 'validatingadmissionpolicies', kind: 'ValidatingAdmissionPolicy', name },
  content: {
    spec: {
      matchConstraints: { resourceRules: [ruleFor('*', 'configmaps')] },
      validations: [{ expression, message: 'no' }],
      ...more,
    },
  },
});
const binding = (name: string, more: Fields = {}): Written => ({
  ...{ resource: 'validatingadmissionpolicybindings', kind: 'ValidatingAdmissionPolicyBinding', name },
  content: { spec: { policyName: name, validationActions: ['Deny'], ...more } },
});

describe('admission on two servers of one etcd', { skip: etcdMissing, timeout: 5 * 60_000 }, () => {
  let etcd: EtcdProcess;
  let webhook: AdmissionWebhook;
  let one: OrchProcess;
  let two: OrchProcess;
  before(async () => {
    [etcd, webhook] = await Promise.all([startEtcd(), AdmissionWebhook.start()]);
    const flags = [`--etcd-servers=${etcd.endpoint}`, '--etcd-prefix=/admission'];
    flags.push('--feature-gates=MutatingAdmissionPolicy=true', `--runtime-config=${alpha}=true`);
    [one, two] = await Promise.all([OrchProcess.start({ flags }), OrchProcess.start({ flags })]);
  });
  after(async () => {
    await Promise.all([one?.[Symbol.asyncDispose](), two?.[Symbol.asyncDispose](), webhook?.[Symbol.asyncDispose]()]);
    await etcd?.stop();
  });

  const refused = /denied/;
  const webhookOf = (resource: string, kind: string): Written => ({
    ...{ resource, kind, name: 'w' },
    content: { webhooks: [webhookFor(webhook)] },
  });
  const patch = JSON.stringify([{ op: 'add', path: '/metadata/labels', value: { mutated: '' } }]);
  const applied = {
    expression: "Object{metadata: Object.metadata{labels: {'mutated': ''}}}",
  };
  const mutating: Written = {
    ...{ apiVersion: alpha, resource: 'mutatingadmissionpolicies', kind: 'MutatingAdmissionPolicy', name: 'm' },
    content: {
      spec: {
        matchConstraints: { resourceRules: [ruleFor('CREATE', 'configmaps')] },
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: applied }],
        reinvocationPolicy: 'Never',
      },
    },
  };
  const mutatingBinding: Written = {
    ...{ apiVersion: alpha, resource: 'mutatingadmissionpolicybindings', kind: 'MutatingAdmissionPolicyBinding' },
    ...{ name: 'm', content: { spec: { policyName: 'm' } } },
  };
  const bound = { policy: policy('p', {}), binding: binding('p') };

  /** `around` is there all the time. Large writes are made on the second thread. */
  const cases: Readonly<
    Record<string, { around?: Written; written: () => Written; judge?: () => Fields; shows: RegExp }>
  > = {
    'a validating webhook': {
      written: () => webhookOf('validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'),
      judge: () => ({ allowed: false }),
      shows: refused,
    },
    'a mutating webhook': {
      written: () => webhookOf('mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'),
      judge: () => ({ allowed: true, patchType: 'JSONPatch', patch: Buffer.from(patch).toString('base64') }),
      shows: /^mutated$/,
    },
    'a policy': { around: bound.binding, written: () => bound.policy, shows: refused },
    'a mutating policy': { around: mutatingBinding, written: () => mutating, shows: /^mutated$/ },
    'a binding of one': { around: mutating, written: () => mutatingBinding, shows: /^mutated$/ },
    'a binding': { around: bound.policy, written: () => bound.binding, shows: refused },
  };
  for (const [what, { around, written, judge, shows }] of Object.entries(cases)) {
    for (const [size, bytes] of Object.entries({ small: 1, large: 300_000 })) {
      test(`${what} that is made, and removed, counts for the next ${size} write at the other`, async () => {
        webhook.reset();
        if (judge) webhook.judge = judge;
        if (around) await put(one, around);
        for (let round = 0; round < rounds; round++) {
          const [writer, other] = round % 2 === 0 ? [one, two] : [two, one];
          assert.equal(await judged(other, bytes), '', `round ${round}: before`);
          await put(writer, written());
          assert.match(await judged(other, bytes), shows, `round ${round}: made`);
          await remove(writer, written());
          assert.equal(await judged(other, bytes), '', `round ${round}: removed`);
        }
        if (around) await remove(one, around);
      });
    }
  }

  test('params that are made, changed and removed count for the next write at the other', async () => {
    const params = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'params' } };
    const paramRef = { name: 'params', namespace: 'default', parameterNotFoundAction: 'Deny' };
    // Params themselves are not judged.
    const matchConstraints = {
      resourceRules: [ruleFor('*', 'configmaps')],
      excludeResourceRules: [{ ...ruleFor('*', 'configmaps'), resourceNames: ['params'] }],
    };
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const parameterized = policy('p', { paramKind, matchConstraints }, "params.data.allowed == 'yes'");
    const binds = binding('p', { paramRef });
    await put(one, parameterized);
    await put(one, binds);
    for (let round = 0; round < rounds; round++) {
      const [writer, other] = round % 2 === 0 ? [one, two] : [two, one];
      assert.match(await judged(other), /no params found/, `round ${round}: before`);
      assert.equal((await writer.post(maps, { ...params, data: { allowed: 'yes' } })).status, 201);
      assert.equal(await judged(other), '', `round ${round}: made`);
      assert.equal((await writer.put(`${maps}/params`, { ...params, data: { allowed: 'no' } })).status, 200);
      assert.match(await judged(other), /denied request: no$/, `round ${round}: changed`);
      assert.equal((await writer.delete(`${maps}/params`)).status, 200);
    }
    for (const each of [binds, parameterized]) await remove(one, each);
  });
});
