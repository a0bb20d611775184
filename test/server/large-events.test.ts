import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { kinds } from '../../src/kinds/kinds.ts';
import { jobsOf } from '../../src/server/serving/heavy/jobs.ts';
import { sameThread } from '../../src/server/serving/heavy/thread-fixture.ts';
import { systemEnvironment } from '../../src/server/wiring/environment.ts';
import { defaultFeatures } from '../../src/server/wiring/features.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

/** Events of large objects in a form that is not the stored one are made on the thread for heavy work, and keep their order. */

const maps = '/api/v1/namespaces/default/configmaps';
const map = (name: string, value: string) => ({ metadata: { name }, data: { key: value } });
const largeValue = 'x'.repeat(1_000_000);
const table = 'application/json;as=Table;v=v1;g=meta.orch.io';
const metadata = 'as=PartialObjectMetadata;v=v1;g=meta.orch.io';

/** Names of jobs that the thread was given. */
let jobs: string[] = [];
const counted = Object.entries(jobsOf(kinds)).map(([name, job]) => {
  const run: typeof job = (input, context) => {
    jobs.push(name);
    return job(input, context);
  };
  return [name, run] as const;
});

describe('a watch of large objects', () => {
  const startHeavyWorker = sameThread(Object.fromEntries(counted));
  const running = serverForSuite(
    { ...systemEnvironment, startHeavyWorker },
    { features: { ...defaultFeatures, CBORServingAndStorage: true } },
  );

  for (const [what, accept, elsewhere] of [
    ['JSON', 'application/json', []],
    ['metadata in JSON', `application/json;${metadata}`, []],
    ['tables', table, ['firstEventObject', 'eventObject']],
    ['protobuf', 'application/vnd.kubernetes.protobuf', ['eventObject', 'eventObject']],
    ['CBOR', 'application/cbor', ['eventObject', 'eventObject']],
    ['metadata in protobuf', `application/vnd.kubernetes.protobuf;${metadata}`, ['eventObject', 'eventObject']],
  ] as const) {
    test(`${what}: made ${elsewhere.length > 0 ? 'elsewhere' : 'here'}, in order`, async () => {
      const { server, side } = running;
      await side.create(maps, map('large', largeValue));
      const abort = new AbortController();
      const { signal } = abort;
      jobs = [];
      let received = '';
      const ended = (async () => {
        const target = `${maps}?watch=1`;
        const response = await server.transportAs(root).send({ method: 'GET', target, headers: { accept }, signal });
        assert.equal(response.status, 200);
        for await (const chunk of response.body) received += Buffer.from(chunk).toString('latin1');
      })().catch((error) => {
        if (!signal.aborted) throw error;
      });
      const arrived = (name: string) => until(() => received.includes(name), `no ${name}`);
      await arrived('large');
      const changed = await side.send('PUT', `${maps}/large`, map('large', `${largeValue}y`));
      assert.equal(changed.status, 200);
      await side.create(maps, map('small-after-large', 'x'));
      await arrived('small-after-large');
      assert.deepEqual(
        jobs.filter((name) => name.endsWith('ventObject')),
        elsewhere,
      );
      assert.ok(received.lastIndexOf('"large"') < received.indexOf('small-after-large'));
      abort.abort();
      await ended;
      for (const name of ['large', 'small-after-large']) await side.send('DELETE', `${maps}/${name}`);
    });
  }
});
