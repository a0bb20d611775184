import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { validObjects } from '../support/valid-objects.ts';

/** An object that is written back as it was read, in any format, keeps its resourceVersion: nothing is written. */

const formats = ['json', 'yaml', 'vnd.orch.protobuf', 'cbor'].map((format) => `application/${format}`);

interface Group {
  readonly groupVersion: string;
  readonly resources: readonly Resource[];
}
interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}
/** Objects of kinds that another test writes in all formats, or that depend on others. */
const further: Readonly<Record<string, readonly object[]>> = {
  ClusterTrustBundle: [{ spec: { trustBundle: makeCertificate({ name: 'a', authority: true }).cert.toString() } }],
  CustomResourceDefinition: [
    {
      spec: {
        ...{ group: 'a.example', scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' } },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    },
  ],
};

const names: Readonly<Record<string, string>> = {
  CustomResourceDefinition: 'things.a.example',
  StorageVersion: 'apps.deployments',
};

describe('an object that is written back as it was read', { timeout: 240_000 }, () => {
  let server: OrchProcess;
  before(async () => {
    const gates = 'CBORServingAndStorage=true,ClusterTrustBundle=true,MutatingAdmissionPolicy=true';
    const still = '--controllers=serviceaccount-controller';
    server = await OrchProcess.start({ flags: [`--feature-gates=${gates}`, '--runtime-config=api/all=true', still] });
  });
  after(() => server[Symbol.asyncDispose]());

  const groups = async (): Promise<readonly Group[]> => {
    const { json } = await server.get<{ groups: readonly { versions: readonly { groupVersion: string }[] }[] }>(
      '/apis',
    );
    const paths = json.groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `/apis/${groupVersion}`));
    return Promise.all(['/api/v1', ...paths].map(async (path) => (await server.get<Group>(path)).json));
  };

  /** What a write in a format changed of an object. Somebody else may write it at the same time. */
  async function changeIn(format: string, path: string): Promise<string | undefined> {
    const { bytes, headers } = await server.get(path, { headers: { accept: format } });
    assert.ok(String(headers['content-type']).startsWith(format));
    const sent = { accept: 'application/json', 'content-type': format };
    const before = (await server.get(path)).json;
    const { json, status, text } = await server.request('PUT', path, { body: bytes, headers: sent });
    if (status === 409) return changeIn(format, path);
    return isDeepStrictEqual(json, before)
      ? undefined
      : `${path} in ${format}: ${JSON.stringify(before)} became ${text}`;
  }

  async function changesOf({ name, kind, namespaced }: Resource, groupVersion: string): Promise<readonly string[]> {
    const group = groupVersion.split('.')[0]?.split('/')[0] ?? '';
    const contents = validObjects[`${kind} ${group}`] ?? validObjects[kind] ?? further[kind];
    if (!contents) return [`there is no object of ${groupVersion} ${kind}`];
    const space = namespaced ? '/namespaces/default' : '';
    const path = `${groupVersion === 'v1' ? '/api' : '/apis'}/${groupVersion}${space}/${name}`;
    const changed: (string | undefined)[] = [];
    for (const [index, content] of contents.flatMap((content) => [content, content]).entries()) {
      const own = names[kind] ?? `${groupVersion.replace(/[./]/g, '-')}-${index}`;
      const metadata = { name: own, ...(index % 2 === 1 && { labels: { z: '1', a: '2' } }) };
      const { status, text } = await server.request('POST', path, {
        body: { apiVersion: groupVersion, kind, metadata, ...content },
      });
      if (status !== 201) changed.push(`${groupVersion} ${kind}: ${text}`);
      else for (const format of formats) changed.push(await changeIn(format, `${path}/${own}`));
      if (Object.hasOwn(names, kind)) break;
    }
    return changed.filter((change) => change !== undefined);
  }

  it('keeps its resourceVersion', async () => {
    const changed: string[] = [];
    for (const { groupVersion, resources } of await groups()) {
      for (const resource of resources) {
        const { name, verbs } = resource;
        if (name.includes('/') || !verbs.includes('create') || !verbs.includes('get')) continue;
        changed.push(...(await changesOf(resource, groupVersion)));
      }
    }
    assert.deepEqual(changed, []);
  });
});
