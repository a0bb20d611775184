import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { before, describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until, within } from '../../src/base/waits-fixture.ts';
import { type ApiClient, ApiError, type ApiList } from '../../src/client/api-client.ts';
import type { Status } from '../../src/meta/status-error.ts';
import { systemEnvironment } from '../../src/server/wiring/environment.ts';
import {
  type Address,
  address,
  addressDefinition,
  addressVersions,
  addressPath as at,
  webhookForSuite,
} from '../support/addresses.ts';
import type { ConversionWebhook } from '../support/conversion-webhook.ts';
import { define, definitionPath } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';
import { memoryConfiguration } from '../support/server-configuration.ts';

/** Conversion of custom resources by a converting.webhook. In v1 an address is host and port, in v2 one text. */

describe('conversion webhooks', () => {
  // Collectors ask as well, for what they watch.
  const { controllers } = memoryConfiguration;
  const suite = serverForSuite(systemEnvironment, { controllers });
  const client = (): ApiClient => suite.server.clientAs(root, 'test');
  const converting = webhookForSuite();
  const { asked } = converting;
  const defineAddresses = (group: string, conversion = converting.webhook.conversion()): Promise<void> =>
    define(client(), addressDefinition(group, conversion));

  /** The version in which an object is stored. */
  const storedVersion = (group: string, name: string): string => {
    const { collection, objectKey } =
      suite.server.resources.find(group, 'v1', 'widgets') ?? assert.fail('the kind is served');
    const { bytes } = collection.get(objectKey('default', name)) ?? assert.fail(`${name} is there`);
    return JSON.parse(bytes.toString()).apiVersion;
  };

  it('convert what is read and written in another version', async () => {
    const group = 'both.example.com';
    await defineAddresses(group);
    await client().create(at(group, 'v1'), address(group, 'x'));
    assert.equal(storedVersion(group, 'x'), `${group}/v1`, 'it is stored as it was sent');
    const seen = await client().get<Address>(at(group, 'v2', 'x'));
    assert.deepEqual([seen.apiVersion, seen.hostPort, seen.host], [`${group}/v2`, 'a:1', undefined]);
    assert.equal(asked(group).length, 1);
    const [question] = asked(group);
    assert.equal(question?.apiVersion, 'apiextensions.orch.io/v1');
    assert.equal(question?.desiredAPIVersion, `${group}/v2`);
    assert.match(question?.target ?? '', /^\/convert\?timeout=30s$/);
    assert.equal(question?.headers['authorization'], undefined);
    await client().get<Address>(at(group, 'v2', 'x'));
    assert.equal(asked(group).length, 1, 'the same object is converted once');
    const written = await client().update<Address>(at(group, 'v2', 'x'), { ...seen, hostPort: 'b:2' });
    assert.equal(written.hostPort, 'b:2');
    const { host, port, hostPort } = await client().get<Address>(at(group, 'v1', 'x'));
    assert.deepEqual([host, port, hostPort], ['b', '2', undefined]);
    const patched = await client().mergePatch<Address>(at(group, 'v2', 'x'), { hostPort: 'c:3' });
    assert.equal(patched.hostPort, 'c:3');
    const created = { ...address(group, 'y'), apiVersion: `${group}/v2`, hostPort: 'd:4' };
    await client().create(at(group, 'v2'), created);
    assert.equal((await client().get<Address>(at(group, 'v1', 'y'))).host, 'd');
    await client().delete(at(group, 'v2', 'y'));
    await client().delete(at(group, 'v2'));
    assert.deepEqual((await client().get<ApiList>(at(group, 'v1'))).items, []);
  });

  it('convert lists in batches of at most 500 objects', async () => {
    const group = 'lists.example.com';
    await defineAddresses(group);
    const names = Array.from({ length: 1_100 }, (_, index) => `x${String(index).padStart(4, '0')}`);
    for (let from = 0; from < names.length; from += 100) {
      const some = names.slice(from, from + 100);
      await Promise.all(some.map((name) => client().create(at(group, 'v1'), address(group, name, { host: name }))));
    }
    const { items } = await client().get<{ readonly items: readonly Address[] }>(at(group, 'v2'));
    assert.deepEqual(
      items.map(({ hostPort }) => hostPort),
      names.map((name) => `${name}:1`),
    );
    const sizes = asked(group).map(({ objects }) => objects.length);
    const { conversionObjectsMax: most } = limits;
    assert.deepEqual(sizes, [most, most, names.length - 2 * most]);
    const converted = asked(group).flatMap(({ objects }) => objects.map(({ metadata }) => String(metadata['name'])));
    assert.deepEqual(converted.toSorted(), names, 'each was converted once');
    const page = await client().get<{ readonly items: readonly Address[] }>(`${at(group, 'v2')}?limit=3`);
    assert.equal(page.items.length, 3);
    assert.equal(asked(group).length, sizes.length, 'they were converted before');
  });

  it('convert the events of watches, in order', async () => {
    const group = 'watches.example.com';
    await defineAddresses(group);
    await client().create(at(group, 'v1'), address(group, 'first'));
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { type, object } of client().watch(`${at(group, 'v2')}?watch=1`, { signal: stop.signal })) {
        seen.push(`${type} ${(object as Address).metadata.name} ${(object as Address).hostPort}`);
      }
    })();
    await until(() => seen.length === 1);
    const held = Promise.withResolvers<void>();
    converting.webhook.instead = (response, question) =>
      void held.promise.then(() => converting.webhook.reply(response, question));
    for (const name of ['a', 'b', 'c']) await client().create(at(group, 'v1'), address(group, name));
    await client().delete(at(group, 'v1', 'a'));
    await until(() => asked(group).length >= 2);
    assert.equal(seen.length, 1);
    held.resolve();
    await until(
      () => seen.length === 5,
      () => seen.join(),
    );
    assert.deepEqual(seen, ['ADDED first a:1', 'ADDED a a:1', 'ADDED b a:1', 'ADDED c a:1', 'DELETED a a:1']);
    stop.abort();
    await watching.catch(() => {});
  });

  it('end watches when they fail', async () => {
    const group = 'failing-watches.example.com';
    await defineAddresses(group);
    const { signal } = new AbortController();
    const seen: { readonly type: string; readonly object: unknown }[] = [];
    const watching = (async () => {
      for await (const event of client().watch(`${at(group, 'v2')}?watch=1`, { signal })) seen.push(event);
    })();
    const others: unknown[] = [];
    const stop = new AbortController();
    const other = (async () => {
      for await (const event of client().watch(`${at(group, 'v1')}?watch=1`, { signal: stop.signal }))
        others.push(event);
    })();
    await client().create(at(group, 'v1'), address(group, 'fine'));
    await until(() => seen.length === 1);
    converting.webhook.instead = (response) => response.writeHead(404).end();
    await client().create(at(group, 'v1'), address(group, 'broken'));
    await within(watching, 'the watch goes on');
    const { type, object } = seen.at(-1) ?? assert.fail('there is no event');
    assert.equal(type, 'ERROR');
    const message = `conversion webhook for ${group}/v1, Kind=Widget failed: the server could not find the requested resource`;
    const { code, message: said } = object as Status;
    assert.deepEqual([code, said], [500, message]);
    await until(() => others.length === 2);
    stop.abort();
    await other.catch(() => {});
  });

  it('convert managed fields of other versions', async () => {
    const group = 'managed.example.com';
    await defineAddresses(group);
    const applied = async (version: string, fields: object, manager: string, force = false): Promise<Address> => {
      const response = await suite.server.transportAs(root).send({
        method: 'PATCH',
        target: `${at(group, version, 'x')}?fieldManager=${manager}&force=${force}`,
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: JSON.stringify({ apiVersion: `${group}/${version}`, kind: 'Widget', metadata: { name: 'x' }, ...fields }),
      });
      const answer = JSON.parse(await text(response.body));
      if (response.status >= 300) throw new Error(answer.message);
      return answer;
    };
    await applied('v1', { host: 'a', port: '1' }, 'first');
    await assert.rejects(applied('v2', { hostPort: 'b:2' }, 'second'), /conflicts with "first"/);
    await applied('v2', { hostPort: 'a:1' }, 'second');
    const both = await applied('v2', { hostPort: 'b:2' }, 'second', true);
    assert.equal(both.hostPort, 'b:2');
    const owners = both.metadata.managedFields?.map(({ manager, apiVersion }) => `${manager} ${apiVersion}`);
    assert.deepEqual(owners, [`second ${group}/v2`]);
  });

  it('convert what is written on the other thread', async () => {
    for (const webhookAsked of [true, false]) {
      const group = webhookAsked ? 'heavy.example.com' : 'heavy-none.example.com';
      await defineAddresses(group, webhookAsked ? converting.webhook.conversion() : { strategy: 'None' });
      const send = async (method: 'POST' | 'PUT', version: string, name: string | undefined, object: object) => {
        const response = await suite.server.transportAs(root).send({
          ...{ method, target: at(group, version, name), headers: { 'content-type': 'application/yaml' } },
          body: JSON.stringify(object),
        });
        const answer: Address & Status = JSON.parse(await text(response.body));
        assert(response.status < 300, String(answer.message));
        return answer;
      };
      const annotations = { long: 'x'.repeat(100_000) };
      const sent = { kind: 'Widget', metadata: { name: 'x', annotations }, hostPort: 'a:1' };
      const created = await send('POST', 'v2', undefined, { ...sent, apiVersion: `${group}/v2` });
      assert.equal(created.hostPort, 'a:1');
      const other = await client().get<Address>(at(group, 'v1', 'x'));
      assert.deepEqual([other.apiVersion, other.host], [`${group}/v1`, webhookAsked ? 'a' : undefined]);
      const updated = await send('PUT', 'v2', 'x', { ...created, hostPort: 'b:2' });
      assert.deepEqual([updated.apiVersion, updated.hostPort], [`${group}/v2`, 'b:2']);
      const seen = await client().get<Address>(at(group, 'v2', 'x'));
      assert.equal(seen.hostPort, webhookAsked ? 'b:2' : undefined, 'strategy None keeps what both versions have');
    }
  });

  it('convert large objects, whatever asks for them', async () => {
    for (const webhookAsked of [true, false]) {
      const group = webhookAsked ? 'large.example.com' : 'large-none.example.com';
      await defineAddresses(group, webhookAsked ? converting.webhook.conversion() : { strategy: 'None' });
      const host = 'x'.repeat(2 * limits.inlineBytesMax);
      const isConverted = (seen: Address): void => {
        assert.equal(seen.apiVersion, `${group}/v2`);
        assert.equal(seen.hostPort, webhookAsked ? `${host}:1` : undefined);
        assert.equal(seen.host, undefined);
      };
      await client().create(at(group, 'v1'), address(group, 'x', { host }));
      const { items } = await client().get<{ readonly items: readonly Address[] }>(at(group, 'v2'));
      for (const item of items) isConverted(item);
      assert.equal(items.length, 1);
      await client().create(at(group, 'v1'), address(group, 'y', { host }));
      isConverted(await client().get<Address>(at(group, 'v2', 'y')));
      const stop = new AbortController();
      let seen = 0;
      for await (const { object } of client().watch(`${at(group, 'v2')}?watch=1`, { signal: stop.signal })) {
        isConverted(object as Address);
        seen += 1;
        if (seen === 2) await client().create(at(group, 'v1'), address(group, 'z', { host }));
        if (seen === 3) break;
      }
      stop.abort();
    }
  });

  describe('whose answers are wrong', () => {
    const group = 'wrong.example.com';
    const kind = `${group}/v1, Kind=Widget`;
    before(async () => {
      await defineAddresses(group);
      await client().create(at(group, 'v1'), address(group, 'x', { metadata: { name: 'x', labels: { a: 'b' } } }));
    });
    type Usual = Parameters<ConversionWebhook['answer']>[0];
    const respond = (change: (response: Usual['response']) => unknown) => (usual: Usual) => ({
      ...usual,
      response: change(usual.response),
    });
    const change = (edit: (object: Readonly<Record<string, unknown>>) => unknown) =>
      respond((response) => ({
        ...response,
        convertedObjects: (response['convertedObjects'] as Address[]).map(edit as never),
      }));
    const withMetadata = (more: unknown) =>
      change((object) => ({ ...object, metadata: { ...(object['metadata'] as object), ...(more as object) } }));
    const failed = `conversion webhook for ${kind} failed:`;
    const invalid = `conversion webhook for ${kind} returned invalid`;
    const rows: readonly (readonly [what: string, answer: ConversionWebhook['answer'], message: string])[] = [
      ['no review', () => ({}), `${failed} Object 'Kind' is missing in '{}'`],
      ['a list', () => [], `${failed} couldn't get version/kind; json parse error`],
      [
        'another kind',
        (usual) => ({ ...usual, kind: 'Review' }),
        `${failed} expected webhook response of apiextensions.orch.io/v1, Kind=ConversionReview, got apiextensions.orch.io/v1, Kind=Review`,
      ],
      [
        'another version',
        (usual) => ({ ...usual, apiVersion: 'apiextensions.orch.io/v2' }),
        `${failed} expected webhook response of`,
      ],
      ['no response', respond(() => undefined), `${failed} no response provided`],
      ['another uid', respond((response) => ({ ...response, uid: 'other' })), `${failed} expected response.uid=`],
      [
        'no result',
        respond((response) => ({ ...response, result: undefined })),
        `${failed} response.result.status was '', not 'Success'`,
      ],
      [
        'a failure',
        respond((response) => ({ ...response, result: { status: 'Failed', message: 'no way' } })),
        `${failed} no way`,
      ],
      [
        'no objects',
        respond((response) => ({ ...response, convertedObjects: [] })),
        `conversion webhook for ${kind} returned 0 objects, expected 1`,
      ],
      [
        'objects that are no list',
        respond((response) => ({ ...response, convertedObjects: {} })),
        `${failed} response.convertedObjects is not a list`,
      ],
      [
        'two objects',
        respond((response) => ({ ...response, convertedObjects: [...(response['convertedObjects'] as []), {}] })),
        `conversion webhook for ${kind} returned 2 objects, expected 1`,
      ],
      ['null', change(() => null), `${invalid} object: Object 'Kind' is missing in 'null'`],
      [
        'another group',
        change((object) => ({ ...object, apiVersion: 'x/v2' })),
        `${invalid} object at index 0: invalid groupVersion (expected ${group}/v2, received x/v2)`,
      ],
      [
        'the same version',
        change((object) => ({ ...object, apiVersion: `${group}/v1` })),
        `${invalid} object at index 0: invalid groupVersion`,
      ],
      [
        'another kind of object',
        change((object) => ({ ...object, kind: 'Gadget' })),
        `${invalid} object at index 0: invalid kind (expected Widget, received Gadget)`,
      ],
      ['another name', withMetadata({ name: 'y' }), `${invalid} object: must have the same name: x != y`],
      [
        'another namespace',
        withMetadata({ namespace: 'kube' }),
        `${invalid} object: must have the same namespace: default != kube`,
      ],
      ['another uid of the object', withMetadata({ uid: 'u' }), `${invalid} object: must have the same UID: `],
      [
        'no metadata',
        change(({ metadata: _, ...object }) => object),
        `${invalid} object: must have the same name: x != `,
      ],
      [
        'labels that are no map',
        withMetadata({ labels: 'x' }),
        `${invalid} metadata: invalid metadata.labels of type string in converted object`,
      ],
      [
        'a label that is no text',
        withMetadata({ labels: { a: 1 } }),
        `${invalid} metadata: metadata.labels[a] must be a string, but is int64 in converted object`,
      ],
      [
        'a wrong label',
        withMetadata({ labels: { 'a b': 'c' } }),
        `${invalid} metadata: metadata.labels: Invalid value: "a b"`,
      ],
    ];
    for (const [what, answer, message] of rows) {
      it(`${what}: 500 with the published text, for each way to ask`, async () => {
        converting.webhook.answer = answer;
        const before = await client().get<Address>(at(group, 'v1', 'x'));
        const asks: readonly (() => Promise<unknown>)[] = [
          () => client().get(at(group, 'v2', 'x')),
          () => client().get(at(group, 'v2')),
          () => client().update(at(group, 'v2', 'x'), { ...before, apiVersion: `${group}/v2`, hostPort: 'b:2' }),
          () => client().mergePatch(at(group, 'v2', 'x'), { hostPort: 'b:2' }),
          () => client().delete(at(group, 'v2', 'x')),
        ];
        for (const ask of asks) await assert.rejects(ask(), (error) => isFailure(error, message));
        assert.deepEqual(await client().get(at(group, 'v1', 'x')), before, 'nothing is stored');
      });
    }

    const responses: readonly (readonly [
      what: string,
      instead: NonNullable<ConversionWebhook['instead']>,
      message: string,
    ])[] = [
      [
        '404',
        (response) => response.writeHead(404).end(),
        `${failed} the server could not find the requested resource`,
      ],
      [
        '500',
        (response) => response.writeHead(500).end('broken'),
        `${failed} an error on the server ("broken") has prevented the request from succeeding`,
      ],
      ['418', (response) => response.writeHead(418).end(), `${failed} the server responded with the status code 418`],
      [
        'a redirect',
        (response) => response.writeHead(302, { location: 'https://127.0.0.1/' }).end(),
        `${failed} Post "https://127.0.0.1:`,
      ],
      ['no JSON', (response) => response.end('{"kind":'), `${failed} couldn't get version/kind; json parse error`],
      [
        'too much',
        (response) => response.end(Buffer.alloc(limits.conversionAnswerBytesMax + 1, ' ')),
        `the webhook's answer has more than`,
      ],
      ['a closed connection', (response) => response.destroy(), `${failed} Post "https://127.0.0.1:`],
    ];
    for (const [what, instead, message] of responses) {
      it(`${what}: 500 with the published text`, async () => {
        converting.webhook.instead = instead;
        await assert.rejects(client().get(at(group, 'v2', 'x')), (error) => isFailure(error, message));
        await assert.rejects(
          client().create(at(group, 'v2'), { ...address(group, 'y'), apiVersion: `${group}/v2`, hostPort: 'b:2' }),
          (error) => isFailure(error, what === 'too much' ? message : message.replace('/v1, ', '/v2, ')),
        );
        await assert.rejects(
          client().get(at(group, 'v1', 'y')),
          (error) => error instanceof ApiError && error.code === 404,
        );
      });
    }

    it('metadata other than labels and annotations is restored', async () => {
      converting.webhook.answer = withMetadata({
        ...{ labels: { c: 'd' }, annotations: { e: 'f' }, generation: 77, finalizers: ['x/y'], resourceVersion: '1' },
        ...{ creationTimestamp: '2020-01-01T00:00:00Z', ownerReferences: [{}], managedFields: 'none' },
      });
      const { metadata: stored } = await client().get<Address>(at(group, 'v1', 'x'));
      const { metadata } = await client().get<Address>(at(group, 'v2', 'x'));
      assert.deepEqual(metadata, { ...stored, labels: { c: 'd' }, annotations: { e: 'f' } });
    });
  });

  it('are not asked again about the object that a refused write began with', async () => {
    const group = 'invalid.example.com';
    await defineAddresses(group);
    await client().create(at(group, 'v1'), address(group, 'x'));
    const seen = await client().get<Address>(at(group, 'v2', 'x'));
    assert.equal(asked(group).length, 1);
    await assert.rejects(
      client().update(at(group, 'v2', 'x'), { ...seen, hostPort: 5 }),
      (error) => error instanceof ApiError && error.code === 422,
    );
    const toTwo = asked(group).filter(({ desiredAPIVersion }) => desiredAPIVersion === `${group}/v2`);
    assert.equal(toTwo.length, 1);
  });

  it('are asked in the first version of ConversionReview that is known', async () => {
    const group = 'beta.example.com';
    await defineAddresses(group, converting.webhook.conversion({}, ['v7', 'v1beta1', 'v1']));
    await client().create(at(group, 'v1'), address(group, 'x'));
    converting.webhook.answer = ({ response }) => ({
      kind: 'ConversionReview',
      apiVersion: 'any',
      response: { ...response, uid: 'any' },
    });
    assert.equal((await client().get<Address>(at(group, 'v2', 'x'))).hostPort, 'a:1');
    assert.equal(asked(group)[0]?.apiVersion, 'apiextensions.orch.io/v1beta1');
  });

  it('are counted', async () => {
    const group = 'counted.example.com';
    await defineAddresses(group);
    await client().create(at(group, 'v1'), address(group, 'x'));
    await client().get(at(group, 'v2', 'x'));
    converting.webhook.answer = () => ({ kind: 'ConversionReview', apiVersion: 'apiextensions.orch.io/v1' });
    await assert.rejects(
      client().create(at(group, 'v2'), { ...address(group, 'y'), apiVersion: `${group}/v2`, hostPort: 'b:2' }),
    );
    const metrics = (await client().getBytes('/metrics')).toString();
    const malformed = 'conversion_webhook_malformed_response_failure';
    for (const series of [
      'apiserver_conversion_webhook_request_total{result="success",failure_type=""}',
      `apiserver_conversion_webhook_request_total{result="failure",failure_type="${malformed}"}`,
      `apiserver_conversion_webhook_duration_seconds_count{result="failure",failure_type="${malformed}"}`,
      `apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="widgets.${group}",from_version="v1",to_version="v2",succeeded="true"}`,
      `apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="widgets.${group}",from_version="v2",to_version="v1",succeeded="false"}`,
    ]) {
      assert(metrics.includes(`${series} `), series);
    }
  });

  it('that cannot be reached fail requests of other versions only', async () => {
    const rows: readonly (readonly [group: string, clientConfig: object, message: RegExp])[] = [
      [
        'refused.example.com',
        { url: 'https://127.0.0.1:1/' },
        /failed: Post "https:\/\/127\.0\.0\.1:1\/\?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused/,
      ],
      [
        'unknown-ca.example.com',
        { caBundle: undefined },
        /failed: Post .*: tls: failed to verify certificate: x509: certificate signed by unknown authority/,
      ],
      [
        'service.example.com',
        { url: undefined, service: { name: 'converter', namespace: 'default', path: '/c' } },
        /failed: Post "https:\/\/converter\.default\.svc:443\/c\?timeout=30s": service "converter" not found: Services are not served/,
      ],
    ];
    for (const [group, config, message] of rows) {
      await defineAddresses(group, converting.webhook.conversion(config as never));
      await client().create(at(group, 'v1'), address(group, 'x'));
      await assert.rejects(client().get(at(group, 'v2', 'x')), message);
      await client().mergePatch(at(group, 'v1', 'x'), { host: 'b' });
    }
  });

  it('that hang do not hold up other requests', async () => {
    const group = 'hanging.example.com';
    await defineAddresses(group);
    converting.webhook.instead = () => {};
    const { metadata } = await client().create<Address>(at(group, 'v1'), address(group, 'x'));
    const { resourceVersion } = metadata;
    const reads = Array.from({ length: 20 }, () =>
      client()
        .get(at(group, 'v2', 'x'))
        .catch((error: unknown) => error),
    );
    await until(() => asked(group).length > 0);
    await client().mergePatch(at(group, 'v1', 'x'), { host: 'b' });
    assert.equal((await client().get<Address>(at(group, 'v1', 'x'))).host, 'b');
    const first = asked(group).filter(({ objects }) => objects[0]?.metadata['resourceVersion'] === resourceVersion);
    assert.equal(first.length, 1, 'the same object is asked for once');
    converting.webhook.fixture.dropConnections();
    for (const error of await Promise.all(reads)) assert.match(String(error), /conversion webhook for/);
  });

  it('that a definition changes are asked at the next request', async () => {
    const group = 'changing.example.com';
    await defineAddresses(group, converting.webhook.conversion({ url: 'https://127.0.0.1:1/' }));
    await client().create(at(group, 'v1'), address(group, 'x'));
    await assert.rejects(client().get(at(group, 'v2', 'x')));
    const path = definitionPath(`widgets.${group}`);
    await client().mergePatch(path, { spec: { conversion: converting.webhook.conversion() } });
    assert.equal((await client().get<Address>(at(group, 'v2', 'x'))).hostPort, 'a:1');
    await client().mergePatch(path, { spec: { conversion: { strategy: 'None', webhook: null } } });
    assert.equal((await client().get<Address>(at(group, 'v2', 'x'))).hostPort, undefined);
  });

  it('that change the storage version store what is written next in it', async () => {
    const group = 'moving.example.com';
    await defineAddresses(group);
    await client().create(at(group, 'v1'), address(group, 'x'));
    await client().mergePatch(definitionPath(`widgets.${group}`), { spec: { versions: addressVersions('v2') } });
    const before = await client().get<Address>(at(group, 'v1', 'x'));
    assert.equal(storedVersion(group, 'x'), `${group}/v1`);
    assert.equal(asked(group).length, 0, 'it is stored in v1');
    const after = await client().update<Address>(at(group, 'v1', 'x'), before);
    assert.notEqual(after.metadata.resourceVersion, before.metadata.resourceVersion);
    assert.equal((await client().get<Address>(at(group, 'v2', 'x'))).hostPort, 'a:1');
    assert.equal(storedVersion(group, 'x'), `${group}/v2`);
    const wanted = (): readonly string[] => asked(group).map(({ desiredAPIVersion }) => desiredAPIVersion);
    assert.deepEqual(wanted(), [`${group}/v2`], 'once, to store it');
    assert.equal((await client().get<Address>(at(group, 'v1', 'x'))).host, 'a');
    assert.deepEqual(wanted(), [`${group}/v2`, `${group}/v1`]);
  });
});

const isFailure = (error: unknown, message: string): boolean => {
  assert(error instanceof ApiError, String(error));
  assert.equal(error.code, 500);
  assert(error.message.includes(message), `${error.message}\ndoes not contain\n${message}`);
  return true;
};
