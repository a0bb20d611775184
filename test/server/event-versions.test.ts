import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parseCbor } from '../../src/codec/cbor/decode.ts';
import { dialects } from '../../src/dialect/dialects.ts';
import { type Kind, storesObjects } from '../../src/kinds/kind.ts';
import { kinds } from '../../src/kinds/kinds.ts';
import { kubectl, kubectlMissing } from '../support/kubectl.ts';
import { OrchProcess } from '../support/orch-process.ts';

/* Events of the core group and of the events group are the same objects: over HTTP, in every format, in both dialects. */

for (const dialect of Object.values(dialects)) {
  const group = dialect.group('events');
  const inCore = '/api/v1/namespaces/default/events';
  const inEvents = `/apis/${group}/v1/namespaces/default/events`;
  const eventTime = '2026-01-01T00:00:00.000000Z';
  const sent = {
    apiVersion: `${group}/v1`,
    kind: 'Event',
    metadata: { name: 'one', namespace: 'default' },
    ...{
      eventTime,
      reportingController: 'x.io/a',
      reportingInstance: 'a-1',
      action: 'Do',
      reason: 'Why',
      type: 'Normal',
    },
    ...{ note: 'it did', regarding: { kind: 'Pod', namespace: 'default', name: 'web', uid: 'u-1' } },
  };

  describe(`events of two groups (${dialect.name})`, { timeout: 120_000 }, () => {
    let server: OrchProcess;
    before(async () => {
      const gate = '--feature-gates=CBORServingAndStorage=true';
      server = await OrchProcess.start({ flags: [`--dialect=${dialect.name}`, gate] });
      const { status, text } = await server.post(inEvents, sent);
      assert.equal(status, 201, text);
    });
    after(() => server[Symbol.asyncDispose]());

    const accepting = (path: string, accept: string) => server.get(path, { headers: { accept } });

    for (const path of [inCore, inEvents]) {
      for (const name of ['', '/one']) {
        test(`${path}${name} is of its version in every format`, async () => {
          const [own, foreign] = path === inCore ? ['message', 'note'] : ['note', 'message'];
          const apiVersion = path === inCore ? 'v1' : `${group}/v1`;
          const { json, text } = await server.get(`${path}${name}`);
          assert.equal(json['apiVersion'], apiVersion);
          for (const [format, found] of Object.entries({
            json: text,
            yaml: (await accepting(`${path}${name}`, 'application/yaml')).text,
            pretty: (await server.get(`${path}${name}?pretty=true`)).text,
          })) {
            assert.match(found, new RegExp(`["]?${own}["]?: ?["]?it did`), format);
            assert.doesNotMatch(found, new RegExp(`["]?${foreign}["]?: ?["]?it did`), format);
          }
          const protobuf = await accepting(`${path}${name}`, dialect.protobufMediaType);
          assert.ok(protobuf.bytes.includes(apiVersion) && protobuf.bytes.includes('it did'));
          const { bytes } = await accepting(`${path}${name}`, 'application/cbor');
          // The version of a list goes on by itself.
          assert.deepEqual({ ...(parseCbor(bytes).value as object), metadata: json['metadata'] }, json);
          const table = await accepting(`${path}${name}`, 'application/json;as=Table;g=meta.k8s.io;v=v1');
          const { rows } = table.json as unknown as { readonly rows: readonly { readonly cells: readonly string[] }[] };
          assert.ok(rows.some(({ cells }) => cells.includes('pod/web') && cells.includes('it did')));
          const list = name === '' ? 'List' : '';
          const partial = await accepting(
            `${path}${name}`,
            `application/json;as=PartialObjectMetadata${list};g=meta.k8s.io;v=v1`,
          );
          assert.equal(partial.json['kind'], `PartialObjectMetadata${list}`);
        });
      }
    }

    test('a protobuf body of one version is read by the other', async () => {
      const { bytes } = await accepting(`${inEvents}/one`, dialect.protobufMediaType);
      await server.request('DELETE', `${inCore}/one`);
      const created = await server.request('PUT', `${inEvents}/one`, {
        body: bytes,
        headers: { 'content-type': dialect.protobufMediaType },
      });
      assert.equal(created.status, 409, 'it carries the version of the former object');
      const { status } = await server.post(inEvents, sent);
      assert.equal(status, 201);
      const read = await accepting(`${inEvents}/one`, dialect.protobufMediaType);
      const put = await server.request('PUT', `${inEvents}/one`, {
        body: read.bytes,
        headers: { 'content-type': dialect.protobufMediaType },
      });
      assert.equal(put.status, 200, put.text);
      assert.equal((await server.get(`${inCore}/one`)).json['message'], 'it did');
    });

    test('a watch of each version tells of one change in its own form, bookmarks too', async () => {
      const watches = [inCore, inEvents, inEvents].map((path) =>
        server.watch(`${path}?watch=1&allowWatchBookmarks=true`),
      );
      await server.post(inEvents, { ...sent, metadata: { name: 'two' } });
      for (const [index, watch] of watches.entries()) {
        await watch.until(({ events }) => events.some(({ object }) => object.metadata.name === 'two'));
        const versions = new Set(
          watch.events.map(({ object }) => (object as unknown as Kind & { apiVersion: string }).apiVersion),
        );
        assert.deepEqual([...versions], [index === 0 ? 'v1' : `${group}/v1`]);
        watch.close();
      }
    });

    test('large bodies and YAML are converted on the thread that does heavy work', async () => {
      const name = 'heavy';
      const annotations = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`x.io/a${index}`, 'v']));
      const created = await server.post(inEvents, { ...sent, metadata: { name, annotations } });
      assert.deepEqual([created.status, created.json['note']], [201, 'it did'], created.text.slice(0, 300));
      const yaml = 'apiVersion: v1\nkind: Event\nmessage: applied\n';
      const applied = await server.request('PATCH', `${inCore}/${name}?fieldManager=t&force=true`, {
        body: Buffer.from(yaml),
        headers: { 'content-type': 'application/apply-patch+yaml' },
      });
      assert.deepEqual([applied.status, applied.json['message']], [200, 'applied'], applied.text.slice(0, 300));
      const read = await server.get(`${inEvents}/${name}`);
      assert.equal(read.json['note'], 'applied');
      const pretty = await server.get(`${inEvents}/${name}?pretty=true`);
      assert.deepEqual(pretty.json, read.json);
    });

    test('errors are of the stored kind; names and finalizers are those of the events group where it is asked', async () => {
      const wrong = { ...sent, metadata: { name: 'A_b', finalizers: ['x'] } };
      const refused = await server.post(inEvents, wrong);
      assert.equal(refused.status, 422);
      const { message, details } = refused.json as { message: string; details: { causes: { field: string }[] } };
      assert.match(message, /^Event "A_b" is invalid: /);
      assert.deepEqual(
        details.causes.map(({ field }) => field),
        ['metadata.name', 'metadata.finalizers[0]'],
      );
      const { regarding: involvedObject, reportingController: reportingComponent, note: _note, ...others } = sent;
      const older = { ...others, involvedObject, reportingComponent, apiVersion: 'v1', metadata: wrong.metadata };
      assert.equal((await server.post(inCore, older)).status, 201);
    });

    test('documents tell of both, and of one stored version', async () => {
      const hashOf = async (path: string): Promise<unknown> => {
        const { resources } = (await server.get(path)).json as unknown as {
          readonly resources: readonly Readonly<Record<string, unknown>>[];
        };
        return resources.find(({ name }) => name === 'events')?.['storageVersionHash'];
      };
      assert.equal(await hashOf(`/apis/${group}/v1`), await hashOf('/api/v1'));
      const stored = kinds(dialect).filter((kind) => storesObjects(kind) && !kind.storedAs && !kind.offByDefault);
      const { text } = await server.get('/metrics');
      assert.equal(
        text.match(/^apiserver_storage_objects\{/gm)?.length,
        stored.length,
        'each collection is counted once',
      );
    });

    test('kubectl reads both', {
      skip: dialect.name === 'kubernetes' ? kubectlMissing : 'kubectl knows other names',
    }, async () => {
      for (const args of [['get', `events.${group}`], ['get', 'events.v1.'], ['events'], ['get', 'events']]) {
        const { code, out, err } = await kubectl(server, args);
        assert.equal(code, 0, err);
        assert.match(out, /Why +pod\/web|Why +Pod\/web/, args.join(' '));
        assert.match(out, /it did/, args.join(' '));
      }
      const described = await kubectl(server, ['get', `events.${group}`, 'one', '-o', 'jsonpath={.note}']);
      assert.equal(described.out, 'it did', described.err);
      const explained = await kubectl(server, ['explain', 'events.regarding', `--api-version=${group}/v1`]);
      assert.match(explained.out, /fieldPath/, explained.err);
    });
  });
}
