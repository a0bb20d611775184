import { describe } from 'node:test';
import { dialects } from '../../../dialect/dialects.ts';
import { check, type Write } from './node-restriction-fixture.ts';

/** For whom a node may request tokens. */

const token = (pod: string, audiences?: readonly string[]): Write => ({
  ...{ resource: 'serviceaccounts/token', namespace: 'ns' },
  object: {
    spec: {
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod, uid: `uid-${pod}` },
      ...(audiences && { audiences }),
    },
  },
});
const unknown = (audience: string): string => `audience "${audience}" not found in pod spec volume`;
const failed = (audience: string, why: string): string => `error validating audience "${audience}": ${why}`;

for (const dialect of [dialects.orch, dialects.kubernetes]) {
  const driver = `csidriver.${dialect.group('storage')}`;
  describe(`audiences that pods name, ${dialect.name}`, () => {
    check(
      [
        ['of a projected volume', token('projects', ['vault']), ''],
        ['another one', token('projects', ['store']), unknown('store')],
        ['the server, which the volume does not name', token('projects'), unknown('')],
        ['the server', token('projects-own', []), ''],
        ['the server in another way', token('projects-own', ['']), ''],
        ['several', token('projects', ['vault', 'vault']), 'node may only request 0 or 1 audiences'],
        ['a pod without volumes', token('mine', ['vault']), unknown('vault')],
        ['of the driver of an inline volume', token('inline', ['store']), ''],
        ['the server, for a driver', token('inline'), ''],
        ['another one than the driver asks for', token('inline', ['vault']), unknown('vault')],
        [
          'of a driver that is not there',
          token('inline-unknown', ['store']),
          failed('store', `${driver} "none" not found`),
        ],
        ['of the driver of a claim', token('claims', ['store']), ''],
        ['of the driver of an ephemeral volume', token('ephemeral', ['store']), ''],
        [
          'of claims that are not bound, or not there',
          token('claims-unknown', ['store']),
          failed('store', '[persistentvolume "" not found, persistentvolumeclaim "absent" not found]'),
        ],
      ],
      { dialect, checksAudiences: true },
    );
  });
}

describe('audiences where they are not checked', () => {
  check([
    ['any', token('projects', ['store']), ''],
    ['several', token('mine', ['vault', 'store']), ''],
  ]);
});
