import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { spanOf } from '../../base/collections/byte-span.ts';
import { limits } from '../../base/limits.ts';
import type { CacheEntry } from '../../cache/cache.ts';
import { orch } from '../../dialect/orch.ts';
import { configMap } from '../../kinds/core/config-map.ts';
import { node } from '../../kinds/core/node.ts';
import { pod } from '../../kinds/core/pod/pod.ts';
import { storageClass } from '../../kinds/storage/storage-class.ts';
import { StatusError } from '../../meta/status-error.ts';
import { encodeContinueToken } from './continue-token.ts';
import { getConsistency, parseListOptions, parseResourceVersion, parseWatchOptions } from './list-options.ts';

const collection = '/core/configmaps/n/';
const configMaps = configMap(orch);
const list = (query: string, kind = configMaps) =>
  parseListOptions(new URLSearchParams(query), { kind, collectionKey: collection, metaGroup: 'm' });
const watch = (query: string, kind = configMaps) =>
  parseWatchOptions(new URLSearchParams(query), { kind, metaGroup: 'm' });
const token = encodeContinueToken({ revision: 7, after: 'm' }, collection);

/** Options that cannot be parsed or combined are a 400; an invalid value is a 422. */
const isRefusal =
  (message: RegExp) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof StatusError);
    assert.equal(error.code, /is invalid/.test(error.message) ? 422 : 400);
    assert.match(error.message, message);
    return true;
  };

describe('resourceVersion', () => {
  for (const [text, revision] of [
    ['0', 0],
    ['1', 1],
    ['0042', 42],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['9007199254740992', Number.MAX_SAFE_INTEGER],
    ['18446744073709551615', Number.MAX_SAFE_INTEGER],
  ] as const) {
    test(`${text} is ${revision}`, () => assert.equal(parseResourceVersion(text), revision));
  }
  for (const text of ['', 'abc', '-1', '+1', '1.5', '1e3', '0x1', ' 1', '1 ', '٣', '1'.repeat(21)]) {
    test(`${JSON.stringify(text)} is none`, () =>
      assert.throws(() => parseResourceVersion(text), isRefusal(/invalid resource version/)));
  }
});

test('a get is as fresh as its version asks (spec section 4.5)', () => {
  const of = (query: string) => getConsistency(new URLSearchParams(query));
  assert.deepEqual(of(''), { type: 'mostRecent' });
  assert.deepEqual(of('resourceVersion='), { type: 'mostRecent' });
  assert.deepEqual(of('resourceVersion=0'), { type: 'any' });
  assert.deepEqual(of('resourceVersion=5'), { type: 'notOlderThan', revision: 5 });
});

describe('a list', () => {
  /** The table of spec section 4.5: the meaning, or why it is rejected. */
  const cells: readonly (readonly [query: string, meaning: string | RegExp])[] = [
    ['', 'mostRecent'],
    ['resourceVersion=0', 'any'],
    ['resourceVersion=5', 'notOlderThan 5'],
    ['limit=2', 'mostRecent'],
    ['limit=2&resourceVersion=0', 'any'],
    ['limit=2&resourceVersion=5', 'exact 5'],
    ['limit=0&resourceVersion=5', 'notOlderThan 5'],
    ['resourceVersionMatch=Exact', /forbidden unless resourceVersion is provided/],
    ['resourceVersionMatch=Exact&resourceVersion=0', /"Exact" is forbidden for resourceVersion "0"/],
    ['resourceVersionMatch=Exact&resourceVersion=5', 'exact 5'],
    ['resourceVersionMatch=Exact&resourceVersion=5&limit=2', 'exact 5'],
    ['resourceVersionMatch=NotOlderThan', /forbidden unless resourceVersion is provided/],
    ['resourceVersionMatch=NotOlderThan&resourceVersion=0', 'any'],
    ['resourceVersionMatch=NotOlderThan&resourceVersion=5', 'notOlderThan 5'],
    ['resourceVersionMatch=NotOlderThan&resourceVersion=5&limit=2', 'notOlderThan 5'],
    ['resourceVersionMatch=NotOlderThan&watch=0', /forbidden unless resourceVersion is provided/],
    [
      'resourceVersionMatch=Newest&resourceVersion=5',
      /^ListOptions\.m "" is invalid: resourceVersionMatch: Unsupported value: "Newest": supported values: "", "Exact", "NotOlderThan"$/,
    ],
    ['resourceVersionMatch=exact&resourceVersion=5', /^ListOptions\.m "" is invalid: .*supported values/],
    [`continue=${token}`, 'exact 7'],
    [`continue=${token}&limit=2`, 'exact 7'],
    [`continue=${token}&resourceVersion=0`, 'exact 7'],
    [`continue=${token}&resourceVersion=5`, /not allowed when using continue/],
    [`continue=${token}&resourceVersion=x`, /invalid resource version/],
    [`continue=${token}&resourceVersion=0&resourceVersionMatch=Exact`, /forbidden when continue is provided/],
    ['continue=nonsense', /continue key is not valid/],
    ['limit=-1', 'mostRecent'],
    ['limit=x', /limit/],
    ['limit=', /limit/],
    ['sendInitialEvents=true', /forbidden for list/],
    ['sendInitialEvents=false', /forbidden for list/],
    ['sendInitialEvents', /forbidden for list/],
  ];
  for (const [query, meaning] of cells) {
    test(`?${query.replace(token, '<token>')}: ${meaning}`, () => {
      if (meaning instanceof RegExp) {
        assert.throws(() => list(query), isRefusal(meaning));
        return;
      }
      const { consistency } = list(query);
      assert.equal(
        'revision' in consistency ? `${consistency.type} ${consistency.revision}` : consistency.type,
        meaning,
      );
    });
  }

  test('is limited by a limit other than 0', () => {
    assert.deepEqual(
      ['', 'limit=-1', 'limit=0', 'limit=1', 'limit=500'].map((query) => list(query).limit),
      [undefined, undefined, undefined, 1, 500],
    );
  });

  test('continues at its token', () => {
    assert.equal(list(`continue=${token}`).after, 'm');
    assert.equal(list('').after, undefined);
    assert.equal(list('continue=').after, undefined);
  });
});

describe('a watch', () => {
  const starts: readonly (readonly [query: string, start: unknown])[] = [
    ['', { type: 'state', send: true, consistency: { type: 'mostRecent' } }],
    ['resourceVersion=0', { type: 'state', send: true, consistency: { type: 'any' } }],
    ['resourceVersion=5', { type: 'after', revision: 5 }],
    [
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
      { type: 'state', send: true, consistency: { type: 'mostRecent' } },
    ],
    [
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0',
      { type: 'state', send: true, consistency: { type: 'any' } },
    ],
    [
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=5',
      { type: 'state', send: true, consistency: { type: 'notOlderThan', revision: 5 } },
    ],
    [
      'sendInitialEvents=false&resourceVersionMatch=NotOlderThan',
      { type: 'state', send: false, consistency: { type: 'mostRecent' } },
    ],
    [
      'sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0',
      { type: 'state', send: false, consistency: { type: 'any' } },
    ],
    ['sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=5', { type: 'after', revision: 5 }],
  ];
  for (const [query, start] of starts) {
    test(`?${query} starts so`, () => assert.deepEqual(watch(`watch=1&${query}`).start, start));
  }

  test('is recognized in every spelling of the parameter', () => {
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
    for (const parameter of ['watch', 'watch=', 'watch=true']) {
      assert.equal(watch(`${parameter}&${query}`).start.type, 'state', parameter);
    }
  });

  const refused: readonly (readonly [query: string, message: RegExp])[] = [
    ['resourceVersionMatch=NotOlderThan&resourceVersion=5', /forbidden for watch unless sendInitialEvents is provided/],
    ['resourceVersionMatch=Exact&resourceVersion=5', /forbidden for watch unless sendInitialEvents/],
    ['sendInitialEvents=true', /requires setting resourceVersionMatch to NotOlderThan/],
    ['sendInitialEvents=false', /requires setting resourceVersionMatch to NotOlderThan/],
    ['sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=5', /requires setting resourceVersionMatch/],
    ['sendInitialEvents=maybe&resourceVersionMatch=NotOlderThan', /sendInitialEvents/],
    ['allowWatchBookmarks=maybe', /allowWatchBookmarks/],
    [`continue=${token}`, /continue is forbidden for watch/],
    ['resourceVersion=x', /invalid resource version/],
    ['timeoutSeconds=x', /timeoutSeconds/],
  ];
  for (const [query, message] of refused) {
    test(`?${query.replace(token, '<token>')} is refused`, () => {
      assert.throws(() => watch(`watch=1&${query}`), isRefusal(message));
    });
  }

  test('has bookmarks if allowed, and marks the end of the initial state', () => {
    const told = (query: string) => {
      const { bookmarks, initialEventsEnd } = watch(`watch=1&${query}`);
      return [bookmarks, initialEventsEnd];
    };
    const state = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
    assert.deepEqual(told(''), [false, false]);
    assert.deepEqual(told('allowWatchBookmarks=true'), [true, false]);
    assert.deepEqual(told(state), [false, false]);
    assert.deepEqual(told(`allowWatchBookmarks=true&${state}`), [true, true]);
    assert.deepEqual(told(`allowWatchBookmarks=true&${state.replace('true', 'false')}`), [true, false]);
  });

  test('ends when the client says, and within a day', () => {
    assert.equal(watch('watch=1').timeoutMs, undefined);
    assert.equal(watch('watch=1&timeoutSeconds=0').timeoutMs, undefined);
    assert.equal(watch('watch=1&timeoutSeconds=90').timeoutMs, 90_000);
    assert.equal(watch('watch=1&timeoutSeconds=-1').timeoutMs, 0);
    assert.equal(watch('watch=1&timeoutSeconds=9999999999').timeoutMs, limits.watchTimeoutMsMax);
  });
});

describe('a selection', () => {
  const entry = (namespace: string, name: string, labels: Record<string, string>, phase = ''): CacheEntry => ({
    key: `/core/pods/${namespace}/${name}`,
    namespace,
    stale: false,
    name,
    revision: 1,
    bytes: Buffer.alloc(0),
    ...spanOf(Buffer.alloc(0)),
    label: (key) => labels[key],
    field: (label) => ({ 'metadata.name': name, 'metadata.namespace': namespace, 'status.phase': phase })[label],
  });
  const entries = [
    entry('n', 'a', { app: 'x' }, 'Running'),
    entry('n', 'b', { app: 'y' }, 'Pending'),
    entry('m', 'a', {}, 'Running'),
  ];
  const rows: readonly (readonly [query: Readonly<Record<string, string>>, selected: readonly string[]])[] = [
    [{}, ['n/a', 'n/b', 'm/a']],
    [{ labelSelector: 'app' }, ['n/a', 'n/b']],
    [{ labelSelector: '!app' }, ['m/a']],
    [{ labelSelector: 'app!=x' }, ['n/b', 'm/a']],
    [{ labelSelector: 'app in (x,z)' }, ['n/a']],
    [{ fieldSelector: 'metadata.name=a' }, ['n/a', 'm/a']],
    [{ fieldSelector: 'metadata.namespace=n' }, ['n/a', 'n/b']],
    [{ fieldSelector: 'metadata.name!=a' }, ['n/b']],
    [{ fieldSelector: 'status.phase=Running' }, ['n/a', 'm/a']],
    [{ fieldSelector: 'status.phase!=Running,metadata.namespace==n' }, ['n/b']],
    [{ fieldSelector: 'status.phase=Running', labelSelector: 'app' }, ['n/a']],
  ];
  const pods = pod(orch);
  for (const [query, selected] of rows) {
    test(`${new URLSearchParams(query)} of pods`, () => {
      const { matches } = list(`${new URLSearchParams(query)}`, pods).selection;
      assert.equal(matches === undefined, Object.keys(query).length === 0);
      const found = entries
        .filter((each) => !matches || matches(each))
        .map(({ namespace, name }) => `${namespace}/${name}`);
      assert.deepEqual(found, selected);
    });
  }

  test('has the name and namespace that it requires', () => {
    const of = (fieldSelector: string) => {
      const { name, namespace } = list(`${new URLSearchParams({ fieldSelector })}`, pods).selection;
      return [name, namespace];
    };
    assert.deepEqual(of('metadata.name=a'), ['a', undefined]);
    assert.deepEqual(of('metadata.name=a,metadata.namespace=n'), ['a', 'n']);
    assert.deepEqual(of('metadata.name!=a,metadata.namespace!=n'), [undefined, undefined]);
  });

  for (const [field, kind, known] of [
    ['metadata.name', configMaps, true],
    ['metadata.namespace', configMaps, true],
    ['metadata.namespace', node(orch), false],
    ['metadata.namespace', storageClass(orch), true],
    ['status.phase', storageClass(orch), false],
    ['spec.unschedulable', node(orch), true],
    ['status.phase', pods, true],
    ['status.phase', configMaps, false],
    ['metadata.uid', configMaps, false],
    ['__proto__', pods, false],
    ['constructor', pods, false],
  ] as const) {
    test(`${field} of a ${kind.kind} can ${known ? '' : 'not '}be selected on`, () => {
      for (const read of [list, watch]) {
        const selecting = () => read(`${new URLSearchParams({ fieldSelector: `${field}=x` })}`, kind);
        if (known) selecting();
        else assert.throws(selecting, isRefusal(/field label not supported|is not a known field selector/));
      }
    });
  }
});
