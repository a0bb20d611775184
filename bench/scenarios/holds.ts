import { setTimeout as pause } from 'node:timers/promises';
import type { ApiRequest } from '../api-client.ts';
import { cborFlag, create, dialect, json, jsonBody } from '../api-objects.ts';
import { Audience, jsonWatch } from '../audience.ts';
import { authorities, CertificateRequests, certificatesGroup, signingRequests } from '../certificate-requests.ts';
import { fillDataDirectory } from '../filled-data.ts';
import { PreparedRequest } from '../http2-client.ts';
import { runLoad } from '../load.ts';
import { configMapBody } from '../objects.ts';
import { Probe } from '../probe.ts';
import type { Product } from '../product.ts';
import { type Row, shortNumber } from '../report.ts';
import { makeManyRoles, replaceBindings, teamNamespace } from '../roles.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { statsOf } from '../stats.ts';

/** What is done while others wait. */
interface Heavy {
  readonly what: string;
  run(product: Product): Promise<unknown>;
  /** Before each time, unmeasured. */
  prepare?(product: Product): Promise<unknown>;
  /** What can be done once only is. */
  readonly once?: boolean;
}

/** How long others wait beside each heavy request: nothing may hold the event loop for long. */
export const holds: Scenario = {
  name: 'holds',
  async run(context) {
    const { workspace, progress } = context;
    const dataDirectory = workspace.freshPath('holds');
    progress(`filling a store with ${text(2 * sizes.heldObjects)} ConfigMaps`);
    await fillDataDirectory(dataDirectory, 'ConfigMaps', {
      objects: 2 * sizes.heldObjects,
      namespaceOf: (index) => (index < sizes.heldObjects ? 'default' : ending),
    });
    await using product = await context.start({
      dataDirectory,
      flags: [`--runtime-config=${certificatesGroup}/v1alpha1`, cborFlag],
    });
    await using probe = new Probe(product.access);
    const turns = await product.turnProbe();
    const rows: Row[] = [];
    for (const heavy of heavyWork()) rows.push(await measure(context, heavy, { product, probe, turns }));
    return rows;
  },
};

interface Measuring {
  readonly product: Product;
  readonly probe: Probe;
  readonly turns: Awaited<ReturnType<Product['turnProbe']>>;
}

async function measure(
  { progress, scale }: BenchContext,
  { what, run, prepare, once }: Heavy,
  { product, probe, turns }: Measuring,
): Promise<Row> {
  progress(what);
  const waits: number[] = [];
  const longest: number[] = [];
  for (let round = 0; round < (once ? 1 : scale.rounds); round++) {
    await prepare?.(product);
    await turns.takeLongest();
    waits.push(await probe.longestDuring(() => run(product)));
    longest.push(await turns.takeLongest());
  }
  return {
    what: `longest wait of others beside ${what}`,
    unit: 'ms',
    measured: statsOf(waits),
    reach: { of: 'measured', atMost: 20 },
    notes: [
      `every time: ${waits.map(shortNumber).join(', ')} ms`,
      `longest turn of the event loop, CPU time: ${longest.map(shortNumber).join(', ')} ms`,
    ],
  };
}

const text = (count: number): string => count.toLocaleString('en-US');

const inDefault = '/api/v1/namespaces/default/configmaps';
const collection = '/api/v1/namespaces/kept/configmaps';
const one = `${collection}/large`;
const wide = '/api/v1/namespaces/wide/configmaps';
/** The namespace that is deleted. */
const ending = 'ending';
const changing = 'changing';

/** An object with `sizes.heldKeys` values; `value` makes one state differ from another. */
function large(value: string, name = 'large'): Record<string, unknown> {
  const data: Record<string, string> = {};
  for (let index = 0; index < sizes.heldKeys; index++) data[`k${index}`] = value;
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}

const tables = `application/json;as=Table;g=${dialect.group('meta')};v=v1`;

/** In this order: what deletes comes last. */
const heavyWork = (): readonly Heavy[] => [
  { what: 'nothing', run: () => pause(500) },
  ...lists(`LIST of ${text(sizes.heldObjects)}`, inDefault),
  ...listsAtOnce(),
  ...writes(),
  makingLarge(),
  ...lists(`LIST of ${sizes.largeObjects} objects of ${text(sizes.heldKeys)} keys`, wide),
  watchers(),
  certificatesSigned(),
  trustBundle(),
  longChain(),
  ...bindings(),
  {
    what: `DELETE of a collection of ${text(sizes.heldObjects)}`,
    once: true,
    run: ({ api }) => api.expect(200, inDefault, { method: 'DELETE' }),
  },
  namespaceDeletion(),
];

function lists(what: string, path: string): readonly Heavy[] {
  const list = (how: string, accept: string, query = ''): Heavy => ({
    what: `${what}, ${how}`,
    run: ({ api }) => api.expect(200, `${path}${query}`, { headers: { accept } }),
  });
  return [
    list('JSON', 'application/json'),
    list('pretty JSON', 'application/json', '?pretty=true'),
    list('YAML', 'application/yaml'),
    list('protobuf', dialect.protobufMediaType),
    list('CBOR', 'application/cbor'),
    list('Table', tables),
    list('pretty Table', tables, '?pretty=true'),
  ];
}

const listConnections = 10;

/** Each shows a part, since the client has to read them all. */
function listsAtOnce(): readonly Heavy[] {
  const atOnce = (how: string, accept: string, query = ''): Heavy => ({
    what: `${sizes.listsAtOnce} LISTs of ${sizes.listedAtOnce} at once, ${how}`,
    async run(product) {
      const clients = await product.http2(listConnections);
      const path = `${inDefault}?limit=${sizes.listedAtOnce}${query}`;
      const request = new PreparedRequest({ method: 'GET', path, headers: { accept } });
      try {
        await runLoad({
          slots: sizes.listsAtOnce,
          durationMs: 60_000,
          requestsMax: sizes.listsAtOnce,
          expected: { status: 200 },
          send: (slot, _turn, listener) => clients[slot % clients.length]?.send(request, listener),
        });
      } finally {
        for (const client of clients) client.close();
      }
    },
  });
  return [
    atOnce('JSON', 'application/json'),
    atOnce('pretty JSON', 'application/json', '&pretty=true'),
    atOnce('protobuf', dialect.protobufMediaType),
    atOnce('CBOR', 'application/cbor'),
    atOnce('Table', tables),
  ];
}

function writes(): readonly Heavy[] {
  let version = 0;
  /** Each write changes every value. */
  const writing = (what: string, method: string, type: string, body: (value: string) => unknown): Heavy => ({
    what: `${what} of ${text(sizes.heldKeys)} keys`,
    prepare: (product) => reset(product, method === 'POST'),
    run({ api }) {
      version += 1;
      const path = method === 'POST' ? collection : one;
      const query = `?fieldManager=a${type.includes('apply') ? '&force=true' : ''}`;
      const request: ApiRequest = { method, headers: { 'content-type': type }, body: jsonBody(body(`v${version}`)) };
      return api.expect(method === 'POST' ? 201 : 200, `${path}${query}`, request);
    },
  });
  const changes = (value: string) => ({ data: large(value)['data'] });
  return [
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
async function reset({ api }: Product, absent: boolean): Promise<void> {
  await makeNamespace(api, 'kept');
  if (absent) {
    await api.send(one, { method: 'DELETE' });
    return;
  }
  const body = jsonBody(large('initial'));
  const answer = await api.send(`${one}?fieldManager=a`, { method: 'PUT', headers: json, body });
  if (answer.status === 404) {
    await api.expect(201, `${collection}?fieldManager=a`, { method: 'POST', headers: json, body });
  }
}

/** Or leaves the one that is there. */
const makeNamespace = (api: Product['api'], name: string) =>
  api.send('/api/v1/namespaces', { method: 'POST', headers: json, body: jsonBody({ metadata: { name } }) });

const makingLarge = (): Heavy => ({
  what: `${sizes.largeObjects} creates of ${text(sizes.heldKeys)} keys at once`,
  once: true,
  prepare: ({ api }) => makeNamespace(api, 'wide'),
  run: ({ api }) =>
    Promise.all(
      Array.from({ length: sizes.largeObjects }, (_, index) => create(api, wide, large('v', `wide-${index}`))),
    ),
});

const watchConnections = 60;

function watchers(): Heavy {
  let version = 0;
  let change: () => Promise<unknown> = () => Promise.reject(new Error('nobody watches'));
  let close = (): void => {};
  const write = ({ api }: Product) => {
    version += 1;
    const body = configMapBody({ name: changing, namespace: 'kept', version: String(version) });
    return api.expect(200, `${collection}/${changing}`, { method: 'PUT', headers: json, body });
  };
  return {
    what: `an event for ${text(sizes.heldWatchers)} watchers of one object`,
    async prepare(product) {
      close();
      await makeNamespace(product.api, 'kept');
      const body = configMapBody({ name: changing, namespace: 'kept' });
      await product.api.send(collection, { method: 'POST', headers: json, body });
      const { metadata } = JSON.parse((await product.api.expect(200, `${collection}?limit=1`)).body.toString());
      const clients = await product.http2(watchConnections);
      close = () => {
        for (const client of clients) client.close();
      };
      const selector = `fieldSelector=metadata.name%3D${changing}`;
      const path = `${collection}?watch=1&${selector}&resourceVersion=${metadata.resourceVersion}`;
      const audience = await Audience.open(clients, sizes.heldWatchers, jsonWatch(path), async (opening) => {
        await opening.deliver(1, () => void write(product));
      });
      change = () => audience.deliver(1, () => void write(product));
    },
    run: () => change(),
  };
}

const signingMsMax = 60_000;

/** Done when none of them is without a certificate. */
function certificatesSigned(): Heavy {
  const made = new CertificateRequests('signed', 'held');
  return {
    what: `${text(sizes.certificates)} certificates requested, approved and signed`,
    once: true,
    async run(product) {
      const clients = await product.http2(listConnections);
      const requests = made.prepare(sizes.certificates);
      await runLoad({
        slots: sizes.writers,
        durationMs: signingMsMax,
        requestsMax: requests.length,
        expected: { status: 201 },
        send(slot, turn, listener) {
          const request = requests[turn];
          if (request) clients[slot % clients.length]?.send(request, listener);
        },
      });
      for (const client of clients) client.close();
      const deadline = performance.now() + signingMsMax;
      while ((await pending(product)) > 0) {
        if (performance.now() > deadline) throw new Error('not all requests are signed');
        await pause(100);
      }
    },
  };
}

/** How many requests are not yet `Approved,Issued`, as the table says. */
async function pending({ api }: Product): Promise<number> {
  const { body } = await api.expect(200, `${signingRequests}?limit=${sizes.certificates}`, {
    headers: { accept: tables },
  });
  const { rows }: { readonly rows: readonly { readonly cells: readonly unknown[] }[] } = JSON.parse(body.toString());
  return rows.filter(({ cells }) => cells.at(-1) !== 'Approved,Issued').length;
}

const bundleBytesMax = 1024 * 1024;

function trustBundle(): Heavy {
  const path = `/apis/${certificatesGroup}/v1alpha1/clustertrustbundles`;
  let body: Buffer | undefined;
  return {
    what: 'create of a trust bundle of 1 MiB',
    async prepare({ api }) {
      body ??= jsonBody({ metadata: { name: 'held' }, spec: { trustBundle: authorities(bundleBytesMax) } });
      await api.send(`${path}/held`, { method: 'DELETE' });
    },
    run: ({ api }) => api.expect(201, path, { method: 'POST', headers: json, ...(body && { body }) }),
  };
}

/** Base64 takes a third more, and the rest of the object some. */
const chainBytesMax = 2 * 1024 * 1024;

function longChain(): Heavy {
  const made = new CertificateRequests('foreign', 'chained');
  let chain = '';
  let write: (product: Product) => Promise<unknown> = () => Promise.reject(new Error('nothing was requested'));
  return {
    what: 'a certificate with a chain of 2 MiB',
    async prepare({ api }) {
      chain ||= Buffer.from(authorities(chainBytesMax)).toString('base64');
      const request = await create<SigningRequest>(api, signingRequests, made.next());
      const { name } = request.metadata;
      const conditions = [{ type: 'Approved', status: 'True', reason: 'Bench' }];
      const approved = jsonBody({ ...request, status: { conditions } });
      await api.expect(200, `${signingRequests}/${name}/approval`, { method: 'PUT', headers: json, body: approved });
      const body = jsonBody({ metadata: { name }, status: { certificate: chain } });
      const headers = { ...json, 'content-type': 'application/merge-patch+json' };
      write = (product) =>
        product.api.expect(200, `${signingRequests}/${name}/status`, { method: 'PATCH', headers, body });
    },
    run: (product) => write(product),
  };
}

interface SigningRequest {
  readonly metadata: { readonly name: string };
}

function bindings(): readonly Heavy[] {
  const count = text(sizes.roleNamespaces * sizes.rolesPerNamespace);
  return [
    {
      what: `making ${count} roles and as many bindings`,
      once: true,
      prepare: ({ api }) => makeNamespace(api, teamNamespace),
      run: makeManyRoles,
    },
    { what: `writing ${count} bindings anew`, once: true, run: (product) => replaceBindings(product, 'b') },
  ];
}

const deletionMsMax = 60_000;

const namespaceDeletion = (): Heavy => ({
  what: `deletion of a namespace with ${text(sizes.heldObjects)} objects`,
  once: true,
  prepare: ({ api }) => makeNamespace(api, ending),
  async run({ api }) {
    const path = `/api/v1/namespaces/${ending}`;
    await api.expect(200, path, { method: 'DELETE' });
    const deadline = performance.now() + deletionMsMax;
    while ((await api.send(path)).status !== 404) {
      if (performance.now() > deadline) throw new Error('the namespace is still there');
      await pause(100);
    }
  },
});
