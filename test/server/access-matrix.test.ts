import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { as, Folder, pathRefusal, type Refused, refusal } from '../support/authorization.ts';
import { type Answer, OrchProcess, type RequestOptions } from '../support/orch-process.ts';
import { http2Answer, openHttp2, withoutCertificate } from '../support/raw-client.ts';

/**
 * Every endpoint, asked by somebody who may do nothing: the answer says what they may not do, and nothing else. Whether
 * there is such a namespace, name, resource or group is not to be seen in it.
 */

interface Listed {
  readonly group: string;
  readonly version: string;
  /** `pods`, `pods/status`. */
  readonly name: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly expected: Omit<Refused, 'by'>;
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
type Method = (typeof methods)[number];

/** Spec section 5.7; a GET of a collection is a `list`. */
const verbsOfOne = { GET: 'get', HEAD: 'get', POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };
const verbsOfMany = { ...verbsOfOne, GET: 'list', HEAD: 'list', DELETE: 'deletecollection' };

/** What the default roles let every authenticated user create. */
const selfReviews = new Set(['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'selfsubjectreviews']);

const rootOf = ({ group, version }: Pick<Listed, 'group' | 'version'>): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

/** Every way to ask for a resource: in no namespace, in one that is there and one that is not, by names likewise. */
function questions(listed: Listed, names: readonly string[]): readonly Asked[] {
  const { group, name: resource } = listed;
  const [plain = '', subresource] = resource.split('/');
  const asked: Asked[] = [];
  for (const namespace of listed.namespaced ? ['', 'default', 'nowhere'] : ['']) {
    const collection = `${rootOf(listed)}${namespace === '' ? '' : `/namespaces/${namespace}`}/${plain}`;
    const ask = (method: Method, path: string, verb: string, name = ''): void => {
      const where = plain === 'namespaces' && verb !== 'list' ? name : namespace;
      asked.push({ method, path, expected: { verb, resource, group, namespace: where, name } });
    };
    if (subresource === undefined) {
      for (const method of methods) ask(method, collection, verbsOfMany[method]);
      ask('GET', `${collection}?watch=1`, 'watch');
      ask('GET', `${collection}?fieldSelector=metadata.name%3Dabsent`, 'list', 'absent');
    }
    for (const name of names) {
      const path = `${collection}/${name}${subresource === undefined ? '' : `/${subresource}`}`;
      for (const method of methods) ask(method, path, verbsOfOne[method], name);
    }
  }
  return asked;
}

for (const dialect of ['orch', 'kubernetes'] as const) {
  describe(`who may do nothing, in the dialect ${dialect}`, () => {
    const held = new AsyncDisposableStack();
    const folder = held.use(new Folder());
    let server: OrchProcess;
    let listed: readonly Listed[];
    /** Of each resource, one that is there. */
    const present = new Map<string, string>();

    before(async () => {
      server = held.use(await OrchProcess.start({ flags: [`--dialect=${dialect}`, folder.tokens({ nobody: [] })] }));
      listed = await discover(server);
      await fill(server, listed, present);
    });
    after(() => held.disposeAsync());

    const callers = [
      ['nobody', as('nobody')],
      ['system:anonymous', 'anonymous'],
    ] as const;

    test('discovery is long, and has something there of most of it', () => {
      assert.ok(listed.length > 24, `${listed.length} resources`);
      assert.ok(present.size >= 11, [...present.keys()].join());
    });

    for (const [by, shown] of callers) {
      test(`${by}: every resource, every verb`, async () => {
        const wrong: string[] = [];
        let count = 0;
        const asked = listed.flatMap((each) =>
          questions(each, [...(present.has(each.name) ? [present.get(each.name) ?? ''] : []), 'absent']).filter(
            ({ expected }) => by === 'system:anonymous' || !isSelfReview(expected),
          ),
        );
        await eachOf(asked, async ({ method, path, expected }) => {
          const answer = await server.request(method, path, { as: shown, ...bodyOf(method) });
          const problem = unlike(answer, method, statusOf({ ...expected, by }));
          if (problem !== undefined) wrong.push(`${method} ${path}: ${problem}`);
          count++;
        });
        assert.deepEqual(wrong.slice(0, 10), []);
        assert.ok(count > 700, `${count} requests`);
      });
    }

    test('the two answers about what is there and what is not differ by the names alone', async () => {
      const there = '/api/v1/namespaces/default/configmaps/there';
      for (const path of [
        '/api/v1/namespaces/default/configmaps/absent',
        '/api/v1/namespaces/nowhere/configmaps/there',
        '/api/v1/namespaces/default/unheard-of/there',
        '/apis/unheard.of/v7/namespaces/default/configmaps/there',
        '/apis/unheard.of/v1/things/there',
        '/api/v9/namespaces/default/configmaps/there',
        '/api/v1/namespaces/default/configmaps/there/unheard-of',
      ]) {
        const [one, other] = await Promise.all([there, path].map((each) => server.get(each, { as: as('nobody') })));
        assert.equal(other?.status, 403, path);
        assert.deepEqual(Object.keys(other?.headers ?? {}), Object.keys(one?.headers ?? {}), path);
        assert.deepEqual(Object.keys(other?.json ?? {}), Object.keys(one?.json ?? {}), path);
      }
    });

    test('resources, groups and versions that nobody has heard of', async () => {
      const wrong: string[] = [];
      const asked = [
        { group: '', version: 'v1', name: 'unheard-of' },
        { group: '', version: 'v9', name: 'pods' },
        { group: 'unheard.of', version: 'v1', name: 'things' },
        { group: 'unheard.of', version: 'v1', name: 'things/part' },
        { group: '', version: 'v1', name: 'pods/unheard-of' },
        { group: '', version: 'v1', name: '__proto__' },
        { group: 'constructor', version: '__proto__', name: 'toString/valueOf' },
      ].flatMap((each) => questions({ ...each, namespaced: true, verbs: [] }, ['absent', '__proto__']));
      await eachOf(asked, async ({ method, path, expected }) => {
        const answer = await server.request(method, path, { as: as('nobody'), ...bodyOf(method) });
        const problem = unlike(answer, method, statusOf({ ...expected, by: 'nobody' }));
        if (problem !== undefined) wrong.push(`${method} ${path}: ${problem}`);
      });
      assert.deepEqual(wrong.slice(0, 10), []);
    });

    test('what is wrong with a request is not said before who may send it', async () => {
      const collection = '/api/v1/namespaces/default/configmaps';
      const rows: readonly (readonly [method: Method, path: string, options: RequestOptions])[] = [
        ['GET', `${collection}?limit=many&resourceVersion=x&continue=%7B`, {}],
        ['GET', `${collection}?fieldSelector=((&labelSelector=((`, {}],
        ['GET', `${collection}/there?pretty=maybe`, {}],
        ['GET', collection, { headers: { accept: 'image/png' } }],
        ['GET', collection, { headers: { accept: 'application/json;as=Nothing;g=x;v=y' } }],
        ['POST', `${collection}?dryRun=Some&fieldValidation=Whatever`, { body: '{' }],
        ['POST', collection, { body: 'x', headers: { 'content-type': 'image/png' } }],
        ['POST', collection, { body: Buffer.alloc(200 << 10, 0x20) }],
        ['PATCH', `${collection}/there`, { body: '[', headers: { 'content-type': 'application/none' } }],
        ['DELETE', `${collection}/there?gracePeriodSeconds=x`, { body: '{"preconditions":3}' }],
      ];
      for (const [method, path, options] of rows) {
        const answer = await server.request<{ message?: string }>(method, path, { ...options, as: as('nobody') });
        assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`);
        assert.match(answer.json?.message ?? answer.text, /User "nobody" cannot/);
      }
    });

    test('paths that are no resources: what the default roles give, to whom they give it', async () => {
      const { json } = await server.get<{ readonly paths: readonly string[] }>('/');
      const everybody = ['/healthz', '/livez', '/readyz', '/version', '/version/'];
      const discovery = [
        '/api',
        '/apis',
        '/apis/',
        '/openapi/v2',
        '/openapi/v3',
        '/openapi/v3/',
        ...documentsOf(listed),
      ];
      const others = ['/', '/healthz/ping', '/livez/ping', '/readyz/ping', '/metrics', '/logs', '/debug/pprof'];
      const paths = new Set([
        ...json.paths,
        ...everybody,
        ...discovery,
        ...others,
        '/unheard-of',
        '/healthzz',
        '/apix',
      ]);
      assert.ok(paths.size >= 30, `${paths.size} paths`);
      const wrong: string[] = [];
      for (const [by, shown] of callers) {
        const may = new Set([...everybody, ...(by === 'nobody' ? discovery : [])]);
        for (const method of [...methods, 'OPTIONS']) {
          await eachOf([...paths], async (path) => {
            const answer = await server.request(method, path, { as: shown, ...bodyOf(method) });
            if (method === 'GET' && may.has(path)) {
              if (answer.status !== 200 && path !== '/version/') wrong.push(`${by} ${path}: ${answer.status}`);
              return;
            }
            const message = pathRefusal(by, method.toLowerCase(), path);
            const problem = unlike(answer, method, { ...forbidden, message, details: {} });
            if (problem !== undefined) wrong.push(`${by} ${method} ${path}: ${problem}`);
          });
        }
      }
      assert.deepEqual(wrong, []);
    });

    test('reviews of oneself are for everybody who is known', async () => {
      const wrong: string[] = [];
      for (const each of listed.filter(({ name }) => selfReviews.has(name))) {
        const path = `${rootOf(each)}/${each.name}`;
        const spec = each.name === 'selfsubjectrulesreviews' ? { namespace: 'nowhere' } : { resourceAttributes: {} };
        const body = each.name === 'selfsubjectreviews' ? {} : { spec };
        for (const [shown, expected] of [
          [as('nobody'), 201],
          ['anonymous', 403],
        ] as const) {
          const { status, text } = await server.post(path, body, { as: shown });
          if (status !== expected) wrong.push(`${path}: ${status} ${text}`);
        }
      }
      assert.deepEqual(wrong, []);
    });

    test('nor does anybody become somebody else', async () => {
      for (const [headers, resource, name] of [
        [{ 'impersonate-user': 'root' }, 'users', 'root'],
        [{ 'impersonate-user': 'system:serviceaccount:default:default' }, 'serviceaccounts', 'default'],
        [{ 'impersonate-user': 'nobody' }, 'users', 'nobody'],
      ] as const) {
        const { status, json } = await server.get<{ message: string }>('/version', { as: as('nobody'), headers });
        const namespace = resource === 'serviceaccounts' ? 'default' : '';
        const message = refusal({ by: 'nobody', verb: 'impersonate', resource, name, namespace });
        assert.deepEqual([status, json.message], [403, message]);
      }
    });

    test('nothing of it happened', async () => {
      for (const each of listed) {
        const name = present.get(each.name);
        if (name === undefined) continue;
        const path = each.namespaced
          ? `${rootOf(each)}/namespaces/default/${each.name}`
          : `${rootOf(each)}/${each.name}`;
        assert.equal((await server.get(`${path}/${name}`)).status, 200, `${path}/${name}`);
      }
    });
  });
}

describe('a method is what it is called, byte by byte', () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  let server: OrchProcess;
  before(async () => {
    server = held.use(await OrchProcess.start({ flags: [folder.tokens({ nobody: [] })] }));
  });
  after(() => held.disposeAsync());

  const secrets = '/api/v1/namespaces/default/secrets';
  const ask = async (method: string, path: string, headers = {}): Promise<number> => {
    const session = await openHttp2(server, withoutCertificate);
    try {
      const { status } = await http2Answer(session, { ':method': method, ':path': path, ...headers });
      return status;
    } finally {
      session.destroy();
    }
  };
  const token = { authorization: `Bearer ${as('nobody').token}` };

  const refuses = async (method: string): Promise<void> => {
    for (const path of [secrets, `${secrets}/absent`]) {
      assert.equal(await ask(method, path, token), 403, path);
      assert.equal(await ask(method, path), 403, `${path}, anonymous`);
    }
  };

  for (const method of ['OPTIONS', 'TRACE', 'QUERY', 'post']) {
    test(`${method} over HTTP/2 is refused`, () => refuses(method));
  }

  test('names that objects have of themselves are no methods', async () => {
    for (const method of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) await refuses(method);
  });

  test('a method in other letters does not make a resource a path', async () => {
    for (const method of ['get', 'Get']) await refuses(method);
  });
});

describe('who shows what is no credential', () => {
  const held = new AsyncDisposableStack();
  let server: OrchProcess;
  before(async () => {
    server = held.use(await OrchProcess.start());
  });
  after(() => held.disposeAsync());

  const collection = '/api/v1/namespaces/default/configmaps';
  const shown = { as: { token: 'nonsense' } };

  test('gets one answer, wherever it is shown', async () => {
    for (const path of ['/', '/version', '/api', '/unheard-of', collection, `${collection}/a/b`, '/api/v9/x']) {
      for (const method of [...methods, 'OPTIONS']) {
        const { status } = await server.request(method, path, shown);
        assert.equal(status, 401, `${method} ${path}`);
      }
    }
  });

  test('also to what cannot be read', async () => {
    for (const path of [`${collection}?watch=maybe`, `${collection}/a/b/c`, `${collection}/%ff`, '/api/v1//x']) {
      assert.equal((await server.get(path, shown)).status, 401, path);
    }
  });
});

type Status = Readonly<Record<string, unknown>>;

const forbidden = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  reason: 'Forbidden',
  code: 403,
} as const;

/** The whole refusal, as the spec has it (section 7). */
function statusOf(refused: Refused): Status {
  const { name = '', group = '', resource } = refused;
  const kind = resource.split('/')[0];
  const details = { ...(name !== '' && { name }), ...(group !== '' && { group }), kind };
  return { ...forbidden, message: refusal(refused), details };
}

/** What is wrong with an answer, undefined where nothing is. */
function unlike({ status, json, text }: Answer, method: string, expected: Status): string | undefined {
  if (status !== 403) return `${status} ${text}`;
  if (method === 'HEAD') return text === '' ? undefined : 'a body';
  try {
    assert.deepEqual(json, expected);
    return undefined;
  } catch {
    return `${text}, expected ${JSON.stringify(expected)}`;
  }
}

const isSelfReview = ({ verb, resource }: Pick<Refused, 'verb' | 'resource'>): boolean =>
  verb === 'create' && selfReviews.has(resource);

function bodyOf(method: string): RequestOptions {
  if (method === 'PATCH') return { body: '{}', headers: { 'content-type': 'application/merge-patch+json' } };
  return method === 'POST' || method === 'PUT' ? { body: {} } : {};
}

/** Not all at once: the limit of requests in flight is not what is tested. */
async function eachOf<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); !next.done; next = rest.next()) await run(next.value);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

interface ResourceLists {
  readonly groups: readonly { readonly name: string; readonly versions: readonly { readonly version: string }[] }[];
  readonly resources: readonly Pick<Listed, 'name' | 'namespaced' | 'verbs'>[];
}

/** All that discovery has. */
async function discover(server: OrchProcess): Promise<readonly Listed[]> {
  const { json } = await server.get<ResourceLists>('/apis');
  const places = [
    { group: '', version: 'v1' },
    ...json.groups.flatMap(({ name, versions }) => versions.map(({ version }) => ({ group: name, version }))),
  ];
  const lists = places.map(async (place) => {
    const list = await server.get<ResourceLists>(rootOf(place));
    return list.json.resources.map(({ name, namespaced, verbs }) => ({ ...place, name, namespaced, verbs }));
  });
  return (await Promise.all(lists)).flat();
}

const documentsOf = (listed: readonly Listed[]): readonly string[] => [
  ...new Set(listed.flatMap((each) => [rootOf(each), ...(each.group === '' ? [] : [`/apis/${each.group}`])])),
];

/** Makes one of each kind that takes an empty one, and notes what is there. */
async function fill(server: OrchProcess, listed: readonly Listed[], present: Map<string, string>): Promise<void> {
  for (const each of listed) {
    if (each.name.includes('/') || !each.verbs.includes('list')) continue;
    const path = each.namespaced ? `${rootOf(each)}/namespaces/default/${each.name}` : `${rootOf(each)}/${each.name}`;
    await server.post(path, { metadata: { name: 'there' }, ...(bodies[each.name] ?? {}) });
    const { json } = await server.get<{ items: readonly { metadata: { name: string } }[] }>(path);
    const found = json.items.find(({ metadata }) => metadata.name === 'there') ?? json.items[0];
    if (found && each.name !== 'events') present.set(each.name, found.metadata.name);
  }
}

const bound = { roleRef: { kind: 'ClusterRole', name: 'view' } };
const bodies: Readonly<Record<string, object>> = {
  rolebindings: bound,
  clusterrolebindings: bound,
  pods: { spec: { containers: [{ name: 'c', image: 'i' }] } },
};
