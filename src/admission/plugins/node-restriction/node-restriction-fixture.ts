import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Dialect } from '../../../dialect/dialect.ts';
import { dialects } from '../../../dialect/dialects.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { StatusError } from '../../../meta/status-error.ts';
import { attributesOf } from '../../attributes-fixture.ts';
import { admissionChain } from '../../chain.ts';
import { nodeRestriction } from './node-restriction.ts';

/** Test support: writes by the kubelet of node n1, on which pod `ns/mine` runs. */
export type Write = NonNullable<Parameters<typeof attributesOf>[0]>;

const objectOf = (metadata: ApiObject['metadata'], spec: object): ApiObject =>
  ({ apiVersion: 'v1', kind: 'Any', metadata, spec }) as ApiObject;

const claimed = (name: string, claimName: string) => ({ name, persistentVolumeClaim: { claimName } });
/** Volumes of pods of n1, by the name of the pod. */
const mounts: Readonly<Record<string, readonly object[]>> = {
  projects: [
    { name: 'v', projected: { sources: [{ configMap: {} }, { serviceAccountToken: { audience: 'vault' } }] } },
  ],
  'projects-own': [{ name: 'v', projected: { sources: [{ serviceAccountToken: {} }] } }],
  inline: [
    { name: 'v', emptyDir: {} },
    { name: 'w', csi: { driver: 'asks' } },
  ],
  'inline-unknown': [{ name: 'w', csi: { driver: 'none' } }],
  claims: [claimed('v', 'local'), claimed('w', 'driven')],
  'claims-unknown': [claimed('v', 'unbound'), claimed('w', 'absent'), claimed('x', 'absent')],
  ephemeral: [{ name: 'v', ephemeral: { volumeClaimTemplate: {} } }],
};
const claims: Readonly<Record<string, string>> = {
  local: 'local',
  driven: 'driven',
  unbound: '',
  'ephemeral-v': 'driven',
};
const volumes: Readonly<Record<string, object>> = {
  local: { hostPath: { path: '/d' } },
  driven: { csi: { driver: 'asks' } },
};
const drivers: Readonly<Record<string, object>> = {
  asks: { tokenRequests: [{ audience: '' }, { audience: 'store' }] },
};
const specified = (name: string, spec: object | undefined): ApiObject | undefined => spec && objectOf({ name }, spec);

const pods: Readonly<Record<string, ApiObject>> = {
  'ns/mine': objectOf({ namespace: 'ns', name: 'mine', uid: 'uid-mine' }, { nodeName: 'n1' }),
  'ns/theirs': objectOf({ namespace: 'ns', name: 'theirs', uid: 'uid-theirs' }, { nodeName: 'n2' }),
  'ns/waiting': objectOf({ namespace: 'ns', name: 'waiting', uid: 'uid-waiting' }, {}),
  ...Object.fromEntries(
    Object.entries(mounts).map(([name, list]) => [
      `ns/${name}`,
      objectOf({ namespace: 'ns', name, uid: `uid-${name}` }, { nodeName: 'n1', volumes: list }),
    ]),
  ),
};
const nodes: Readonly<Record<string, ApiObject>> = { n1: objectOf({ name: 'n1', uid: 'uid-n1' }, {}) };

const commonNames: Readonly<Record<string, string>> = {
  n1: 'system:node:n1',
  n2: 'system:node:n2',
  jane: 'jane',
  none: '',
};

interface Setting {
  readonly dialect?: Dialect;
  readonly username?: string;
  readonly groups?: readonly string[];
  readonly checksRequestedNames?: boolean;
  readonly checksAudiences?: boolean;
}

/** Rejects with the plugin's error. */
export async function admit(write: Write, setting: Setting = {}): Promise<void> {
  const { dialect = dialects.orch, username = 'system:node:n1', groups = ['system:nodes'] } = setting;
  const { checksRequestedNames = true, checksAudiences = false } = setting;
  const chain = admissionChain([
    nodeRestriction({
      dialect,
      checksRequestedNames,
      checksAudiences,
      storage: {
        claim: (namespace, name) =>
          namespace === 'ns' && Object.hasOwn(claims, name) ? specified(name, { volumeName: claims[name] }) : undefined,
        volume: async (name) => specified(name, volumes[name]),
        driver: (name) => specified(name, drivers[name]),
      },
      pod: async (namespace, name) => pods[`${namespace}/${name}`],
      node: (name) => nodes[name],
      commonName: (request) => {
        const found = commonNames[request];
        if (found === undefined) throw new Error('not a request');
        return found;
      },
    }),
  ]);
  const attributes = { ...attributesOf(write), user: { username, uid: '', groups, extra: {} } };
  const before = structuredClone(attributes.object);
  await chain.mutate(attributes);
  await chain.validate(attributes);
  assert.deepEqual(attributes.object, before, 'the object is left as it is');
}

type Row = readonly (readonly [what: string, write: Write, refusal: string])[];

/** `refusal` is '' if the write is admitted, else the message after `... is forbidden: `. */
export function check(rows: Row, setting: Setting = {}): void {
  for (const [what, write, refusal] of rows) {
    it(what, async () => {
      const done = admit(write, setting);
      if (refusal === '') await done;
      else {
        await assert.rejects(done, (error) => {
          assert.ok(error instanceof StatusError);
          assert.equal(error.reason, 'Forbidden');
          assert.equal(error.message.slice(error.message.indexOf(' is forbidden: ') + 15), refusal);
          return true;
        });
      }
    });
  }
}

/** The owner reference of a mirror pod on node n1. */
export const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'uid-n1', controller: true };
