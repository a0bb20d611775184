import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { dialects } from '../../dialect/dialects.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import { attributesOf } from '../attributes-fixture.ts';
import { admissionChain } from '../chain.ts';
import { serviceAccount } from './service-account.ts';

interface Setting {
  readonly dialect?: Dialect;
  /** Fields of the existing service accounts, by name. */
  readonly accounts?: Readonly<Record<string, object>>;
  readonly metadata?: object;
  readonly operation?: 'create' | 'update';
  readonly resource?: string;
  /** Stops before the plugins that only validate. */
  readonly mutatedOnly?: boolean;
}

interface PodSpec {
  serviceAccountName?: string;
  serviceAccount?: string;
  imagePullSecrets?: unknown;
  volumes?: { name: string; projected?: { sources: readonly unknown[]; defaultMode: number } }[];
  containers: { volumeMounts?: { name: string }[] }[];
  initContainers?: { volumeMounts?: { name: string }[] }[];
}

const clock = new ManualClock();
const random = { uuid: () => '', bytes: (count: number) => new Uint8Array(count) };
const { orch, kubernetes } = dialects;
const container = (name: string, more: object = {}) => ({ name, image: 'i', ...more });
const bare = { containers: [container('c')] };

/** The pod spec after admission. Throws if the pod is rejected. */
async function admit(spec: object, setting: Setting = {}): Promise<PodSpec> {
  const { dialect = orch, accounts = { default: {} }, metadata = {}, operation, resource = 'pods' } = setting;
  const chain = admissionChain([
    serviceAccount({
      dialect,
      clock,
      random,
      account: (namespace, name) =>
        Object.hasOwn(accounts, name)
          ? ({
              apiVersion: 'v1',
              kind: 'ServiceAccount',
              metadata: { namespace, name },
              ...accounts[name],
            } as ApiObject)
          : undefined,
    }),
  ]);
  const attributes = attributesOf({
    namespace: 'ns',
    name: 'p',
    resource,
    ...(operation && { operation }),
    object: { metadata: { name: 'p', ...metadata }, spec: structuredClone(spec) },
  });
  await chain.mutate(attributes);
  if (setting.mutatedOnly) return attributes.object?.['spec'] as unknown as PodSpec;
  await chain.validate(attributes);
  return attributes.object?.['spec'] as unknown as PodSpec;
}

const refusal = async (spec: object, setting: Setting = {}): Promise<StatusError | undefined> => {
  try {
    await admit(spec, setting);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof StatusError);
    assert.equal(error.code, 403);
    return error;
  }
};

describe('the account of a pod', () => {
  it('is the default one if none is named', async () => {
    const spec = await admit(bare);
    assert.deepEqual([spec.serviceAccountName, spec.serviceAccount], ['default', 'default']);
  });

  it('is the one that is named', async () => {
    const spec = await admit({ ...bare, serviceAccountName: 'builder' }, { accounts: { builder: {} } });
    assert.deepEqual([spec.serviceAccountName, spec.serviceAccount], ['builder', 'builder']);
  });

  it('must exist', async () => {
    const error = await refusal({ ...bare, serviceAccountName: 'none' });
    assert.equal(
      error?.message,
      'pods "p" is forbidden: error looking up service account ns/none: serviceaccount "none" not found',
    );
    assert.deepEqual(error?.details, { name: 'p', kind: 'pods' });
  });

  it('is waited for if it is the default one, which may not be created yet', async () => {
    const accounts: Record<string, object> = {};
    const admitted = admit(bare, { accounts });
    for (let turn = 0; clock.pending === 0; turn++) {
      assert.ok(turn < 100);
      await Promise.resolve();
    }
    accounts['default'] = {};
    clock.advance(100);
    assert.equal((await admitted).serviceAccountName, 'default');
  });

  it('is not waited for indefinitely', async () => {
    const refused = refusal(bare, { accounts: {} });
    let waitedMs = 0;
    let settled = false;
    void refused.then(() => {
      settled = true;
    });
    for (let turn = 0; !settled && turn < 2_000; turn++) {
      if (clock.pending > 0) {
        clock.advance(100);
        waitedMs += 100;
      }
      await Promise.resolve();
    }
    assert.match((await refused)?.message ?? '', /error looking up service account ns\/default: /);
    assert.equal(waitedMs, 900);
  });
});

describe('the token of a pod', () => {
  for (const [dialect, prefix, path, authority] of [
    [orch, 'orch-api-access-', '/var/run/secrets/orch.io/serviceaccount', 'orch-root-ca.crt'],
    [kubernetes, 'kube-api-access-', '/var/run/secrets/kubernetes.io/serviceaccount', 'kube-root-ca.crt'],
  ] as const) {
    it(`is mounted in every container: ${dialect.name}`, async () => {
      const spec = await admit(
        { containers: [container('a'), container('b')], initContainers: [container('i')] },
        { dialect },
      );
      const name = `${prefix}bbbbb`;
      assert.deepEqual(spec.volumes, [
        {
          name,
          projected: {
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
              { configMap: { name: authority, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
              {
                downwardAPI: {
                  items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
                },
              },
            ],
            defaultMode: 420,
          },
        },
      ]);
      const mounts = [...spec.containers, ...(spec.initContainers ?? [])].map((each) => each.volumeMounts);
      assert.deepEqual(mounts, Array(3).fill([{ name, readOnly: true, mountPath: path }]));
    });
  }

  for (const [pod, account, mounted] of [
    [undefined, undefined, true],
    [undefined, false, false],
    [undefined, true, true],
    [false, true, false],
    [true, false, true],
    [false, undefined, false],
  ] as const) {
    it(`pod says ${pod}, account says ${account}: ${mounted ? 'mounted' : 'not mounted'}`, async () => {
      const spec = await admit(
        { ...bare, ...(pod !== undefined && { automountServiceAccountToken: pod }) },
        { accounts: { default: account === undefined ? {} : { automountServiceAccountToken: account } } },
      );
      assert.equal(spec.volumes?.length ?? 0, mounted ? 1 : 0);
      assert.equal(spec.containers[0]?.volumeMounts?.length ?? 0, mounted ? 1 : 0);
    });
  }

  const own = { name: 'own', mountPath: '/var/run/secrets/orch.io/serviceaccount' };

  it('is not mounted over another mount of a container', async () => {
    const containers = [container('a', { volumeMounts: [own] }), container('b')];
    const spec = await admit({ containers, volumes: [{ name: 'own' }] });
    assert.deepEqual(
      spec.containers.map(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)),
      [['own'], ['orch-api-access-bbbbb']],
    );
    assert.deepEqual(
      spec.volumes?.map(({ name }) => name),
      ['own', 'orch-api-access-bbbbb'],
    );
  });

  it('has no volume if no container needs it', async () => {
    const spec = await admit({ containers: [container('a', { volumeMounts: [own] })], volumes: [{ name: 'own' }] });
    assert.deepEqual(
      spec.volumes?.map(({ name }) => name),
      ['own'],
    );
  });

  it('uses an existing volume of that name', async () => {
    const spec = await admit({ ...bare, volumes: [{ name: 'orch-api-access-mine' }] });
    assert.deepEqual(
      spec.volumes?.map(({ name }) => name),
      ['orch-api-access-mine'],
    );
    assert.equal(spec.containers[0]?.volumeMounts?.[0]?.name, 'orch-api-access-mine');
  });
});

describe('pull secrets', () => {
  const accounts = { default: { imagePullSecrets: [{ name: 'a' }, { name: 'b' }] } };

  it('are those of the account if the pod has none', async () => {
    assert.deepEqual((await admit(bare, { accounts })).imagePullSecrets, [{ name: 'a' }, { name: 'b' }]);
    assert.equal((await admit(bare)).imagePullSecrets, undefined);
  });

  it("are the pod's own if it has some", async () => {
    const spec = await admit({ ...bare, imagePullSecrets: [{ name: 'mine' }] }, { accounts });
    assert.deepEqual(spec.imagePullSecrets, [{ name: 'mine' }]);
  });
});

describe('an account that limits secrets', () => {
  const env = (secret: string) => ({ env: [{ name: 'E', valueFrom: { secretKeyRef: { name: secret, key: 'k' } } }] });
  const envFrom = (secret: string) => ({ envFrom: [{ secretRef: { name: secret } }] });
  const volume = (secret: string) => ({ volumes: [{ name: 'v', secret: { secretName: secret } }] });
  const isNot = 'is not allowed because service account default does not reference that';
  const cases = [
    [
      'a volume',
      (secret: string) => ({ ...bare, ...volume(secret) }),
      `volume with secret.secretName="no" ${isNot} secret`,
    ],
    [
      'a variable',
      (secret: string) => ({ containers: [container('c', env(secret))] }),
      `container c with envVar E referencing secret.secretName="no" ${isNot} secret`,
    ],
    [
      'all variables (CVE-2024-3177)',
      (secret: string) => ({ containers: [container('c', envFrom(secret))] }),
      `container c with envFrom referencing secret.secretName="no" ${isNot} secret`,
    ],
    [
      'an init container',
      (secret: string) => ({ ...bare, initContainers: [container('i', env(secret))] }),
      `init container i with envVar E referencing secret.secretName="no" ${isNot} secret`,
    ],
    [
      'a pull secret',
      (secret: string) => ({ ...bare, imagePullSecrets: [{ name: secret }] }),
      `imagePullSecrets[0].name="no" ${isNot} imagePullSecret`,
    ],
  ] as const;
  const limited = (value: string): Setting => ({
    accounts: {
      default: {
        metadata: { name: 'default', annotations: { 'orch.io/enforce-mountable-secrets': value } },
        secrets: [{ name: 'yes' }],
        imagePullSecrets: [{ name: 'yes' }],
      },
    },
  });

  for (const [what, spec, message] of cases) {
    it(what, async () => {
      assert.equal(await refusal(spec('yes'), limited('true')), undefined);
      assert.equal((await refusal(spec('no'), limited('true')))?.message, `pods "p" is forbidden: ${message}`);
      for (const value of ['false', '', 'yes', 'tRue'])
        assert.equal(await refusal(spec('no'), limited(value)), undefined);
      for (const value of ['1', 't', 'TRUE']) assert.ok(await refusal(spec('no'), limited(value)));
    });
  }

  for (const [what, more] of [
    ['a variable (CVE-2023-2728)', env],
    ['all variables', envFrom],
  ] as const) {
    it(`ephemeral containers: ${what}`, async () => {
      const spec = (secret: string) => ({
        ...bare,
        serviceAccountName: 'default',
        ephemeralContainers: [container('e', more(secret))],
      });
      const setting: Setting = { ...limited('true'), operation: 'update', resource: 'pods/ephemeralcontainers' };
      assert.equal(await refusal(spec('yes'), setting), undefined);
      assert.match((await refusal(spec('no'), setting))?.message ?? '', /ephemeral container e with env/);
    });
  }
});

describe('writes that are not changed', () => {
  for (const [operation, resource] of [
    ['update', 'pods'],
    ['update', 'pods/status'],
    ['create', 'pods/binding'],
    ['create', 'configmaps'],
  ] as const) {
    it(`${operation} ${resource}`, async () => {
      const spec = await admit({ ...bare, serviceAccountName: 'none' }, { accounts: {}, operation, resource });
      assert.deepEqual(spec, { ...bare, serviceAccountName: 'none' });
    });
  }
});

describe('a mirror pod', () => {
  const mirror = { metadata: { annotations: { 'orch.io/config.mirror': 'x' } } };

  it('stays as it is', async () => assert.deepEqual(await admit(bare, mirror), bare));

  for (const [spec, what] of [
    [{ ...bare, serviceAccountName: 'default' }, 'reference service accounts'],
    [{ ...bare, volumes: [{ name: 'v', secret: { secretName: 's' } }] }, 'reference secrets'],
    [{ ...bare, volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 's' } }] } }] }, 'reference secrets'],
    [{ ...bare, volumes: [{ name: 'v', csi: { nodePublishSecretRef: { name: 's' } } }] }, 'reference secrets'],
    [{ containers: [container('c', { envFrom: [{ secretRef: { name: 's' } }] })] }, 'reference secrets'],
    [{ ...bare, imagePullSecrets: [{ name: 's' }] }, 'reference secrets'],
    [
      { ...bare, volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
      'use service account token volume projections',
    ],
  ] as const) {
    it(`may not ${what}: ${JSON.stringify(spec).slice(0, 80)}`, async () => {
      const message = `pods "p" is forbidden: a mirror pod may not ${what}`;
      // While objects are changed already: NodeRestriction comes after.
      assert.equal((await refusal(spec, { ...mirror, mutatedOnly: true }))?.message, message);
    });
  }
});
