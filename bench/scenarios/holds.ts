import { setTimeout as pause } from 'node:timers/promises';
import type { ApiRequest } from '../api-client.ts';
import { fillDataDirectory } from '../filled-data.ts';
import { Probe } from '../probe.ts';
import type { Product } from '../product.ts';
import { type Row, shortNumber } from '../report.ts';
import { sizes } from '../scale.ts';
import type { Scenario } from '../scenario.ts';
import { statsOf } from '../stats.ts';

/** A request that is much work. `prepare` runs before each time, unmeasured. */
interface Heavy {
  readonly what: string;
  readonly path: string;
  readonly request: ApiRequest;
  readonly status: number;
  readonly prepare?: (product: Product) => Promise<unknown>;
}

/** How long others wait beside each heavy request: nothing may hold the event loop for long. */
export const holds: Scenario = {
  name: 'holds',
  async run(context) {
    const { workspace, progress, scale } = context;
    progress(`filling a store with ${sizes.heldObjects.toLocaleString('en-US')} ConfigMaps`);
    const dataDirectory = workspace.freshPath('holds');
    await fillDataDirectory(dataDirectory, 'ConfigMaps', sizes.heldObjects);
    await using product = await context.start({ dataDirectory });
    await using probe = new Probe(product.access);
    const rows: Row[] = [];
    const measure = async (
      what: string,
      rounds: number,
      run: () => Promise<unknown>,
      before?: () => Promise<unknown>,
    ) => {
      progress(what);
      const longest: number[] = [];
      for (let round = 0; round < rounds; round++) {
        await before?.();
        longest.push(await probe.longestDuring(run));
      }
      rows.push({
        what: `longest wait of others beside ${what}`,
        unit: 'ms',
        measured: statsOf(longest),
        reach: { of: 'measured', atMost: 20 },
        notes: [`every time: ${longest.map(shortNumber).join(', ')} ms`],
      });
    };
    await measure('nothing', scale.rounds, () => pause(500));
    for (const { what, path, request, status, prepare } of heavyRequests()) {
      const run = () => product.api.expect(status, path, request);
      await measure(what, scale.rounds, run, prepare && (() => prepare(product)));
    }
    await measure(`DELETE of a collection of ${sizes.heldObjects.toLocaleString('en-US')}`, 1, () =>
      product.api.expect(200, '/api/v1/namespaces/default/configmaps', { method: 'DELETE' }),
    );
    return rows;
  },
};

const list = '/api/v1/configmaps';
const collection = '/api/v1/namespaces/kept/configmaps';
const one = `${collection}/large`;

/** An object with `sizes.heldKeys` values; `value` makes one state differ from another. */
function large(value: string): Record<string, unknown> {
  const data: Record<string, string> = {};
  for (let index = 0; index < sizes.heldKeys; index++) data[`k${index}`] = value;
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'large' }, data };
}

function heavyRequests(): readonly Heavy[] {
  const reading = (what: string, accept: string, query = ''): Heavy => ({
    what: `LIST of ${sizes.heldObjects.toLocaleString('en-US')}, ${what}`,
    path: `${list}${query}`,
    request: { headers: { accept } },
    status: 200,
  });
  let version = 0;
  /** Each write changes every value. */
  const writing = (what: string, method: string, type: string, body: (value: string) => unknown): Heavy => ({
    what: `${what} of ${sizes.heldKeys.toLocaleString('en-US')} keys`,
    path: `${method === 'POST' ? collection : one}?fieldManager=a${type.includes('apply') ? '&force=true' : ''}`,
    get request() {
      version += 1;
      return { method, headers: { 'content-type': type }, body: Buffer.from(JSON.stringify(body(`v${version}`))) };
    },
    status: method === 'POST' ? 201 : 200,
    prepare: (product) => reset(product, method === 'POST'),
  });
  const changes = (value: string) => ({ data: large(value)['data'] });
  return [
    reading('JSON', 'application/json'),
    reading('pretty JSON', 'application/json', '?pretty=true'),
    reading('YAML', 'application/yaml'),
    reading('protobuf', 'application/vnd.orch.protobuf'),
    reading('Table', 'application/json;as=Table;g=meta.orch.io;v=v1'),
    reading('pretty Table', 'application/json;as=Table;g=meta.orch.io;v=v1', '?pretty=true'),
    writing('create', 'POST', 'application/json', large),
    writing('create in YAML', 'POST', 'application/yaml', large),
    writing('PUT', 'PUT', 'application/json', large),
    writing('merge patch', 'PATCH', 'application/merge-patch+json', changes),
    writing('strategic merge patch', 'PATCH', 'application/strategic-merge-patch+json', changes),
    writing('JSON patch', 'PATCH', 'application/json-patch+json', (value) => [
      { op: 'replace', path: '/data', value: large(value)['data'] },
    ]),
    writing('server-side apply', 'PATCH', 'application/apply-patch+yaml', large),
  ];
}

/** The object as it is before a write, or none. */
async function reset(product: Product, absent: boolean): Promise<void> {
  await product.api.send('/api/v1/namespaces', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ metadata: { name: 'kept' } })),
  });
  if (absent) {
    await product.api.send(one, { method: 'DELETE' });
    return;
  }
  const body = Buffer.from(JSON.stringify(large('initial')));
  const answer = await product.api.send(`${one}?fieldManager=a`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body,
  });
  if (answer.status === 404) {
    await product.api.expect(201, `${collection}?fieldManager=a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
  }
}
