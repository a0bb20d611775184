import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { configuration, EncryptionFixture, identity, keyed, plugin, secretOf } from './encryption-fixture.ts';
import { publishedAt, publishedValues } from './published-values-fixture.ts';

const key = '/core/secrets/default/one';
const plain = Buffer.from('{"kind":"Secret"}');

const providers = {
  aescbc: keyed('aescbc', 'key1'),
  aesgcm: keyed('aesgcm', 'key1'),
  secretbox: keyed('secretbox', 'key1'),
  kms: plugin('plugin'),
} as const;
type Name = keyof typeof providers;
const names = Object.keys(providers) as Name[];

const opened = async (...used: readonly object[]) =>
  (await new EncryptionFixture().open(configuration([['secrets'], ...used]))).transformer;

describe('values that kube-apiserver stored', () => {
  for (const [index, { provider, key: secret, plain: wanted, stored }] of publishedValues.entries()) {
    test(`are read: ${provider}, ${Buffer.from(secret, 'base64').length * 8} bits, number ${index}`, async () => {
      const type = provider.startsWith('kms') ? undefined : provider;
      const used = type === undefined ? plugin('plugin') : { [type]: { keys: [{ name: 'key1', secret }] } };
      const transformer = (await new EncryptionFixture().open(configuration([['*.*'], used]))).transformer;
      const read = await transformer.fromStored(Buffer.from(stored, 'base64'), publishedAt);
      assert.equal(Buffer.from(read.bytes).toString('base64'), wanted);
      assert.equal(read.stale, provider === 'kms-key');
    });
  }
});

describe('a stored value', () => {
  test('begins with provider and key, as published', async () => {
    const prefixes = { aescbc: 'aescbc:v1:key1:', aesgcm: 'aesgcm:v1:key1:', secretbox: 'secretbox:v1:key1:' };
    for (const [name, prefix] of Object.entries({ ...prefixes, kms: 'kms:v2:plugin:' })) {
      const stored = Buffer.from((await opened(providers[name as Name])).toStored(plain, key));
      assert.equal(stored.subarray(0, prefix.length + 8).toString(), `k8s:enc:${prefix}`);
      assert.equal(stored.includes(plain), false);
    }
  });

  test('is another one each time, and read as what it was', async () => {
    for (const name of names) {
      const transformer = await opened(providers[name]);
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
          const [one, other] = [transformer.toStored(bytes, key), transformer.toStored(bytes, key)];
          assert.notDeepEqual(one, other);
          const read = await transformer.fromStored(one, key);
          assert.deepEqual([Buffer.from(read.bytes), read.stale], [Buffer.from(bytes), false]);
        }),
        { numRuns: 50 },
      );
    }
  });

  test('is read at another key only where the key is not authenticated', async () => {
    const readable = { aescbc: true, aesgcm: false, secretbox: true, kms: false };
    for (const name of names) {
      const transformer = await opened(providers[name]);
      const stored = transformer.toStored(plain, key);
      const other = async () => transformer.fromStored(stored, '/core/secrets/default/two');
      if (readable[name]) assert.deepEqual(Buffer.from((await other()).bytes), plain);
      else await assert.rejects(other, /message authentication failed/);
    }
  });

  test('that was changed in any byte is not read as another value, where it is authenticated', async () => {
    for (const name of names) {
      if (name === 'aescbc') continue;
      const transformer = await opened(providers[name]);
      const stored = Buffer.from(transformer.toStored(plain, key));
      for (let at = 0; at < stored.length; at++) {
        const changed = Buffer.from(stored);
        changed[at] = (changed[at] ?? 0) ^ 1;
        const read = await Promise.resolve()
          .then(() => transformer.fromStored(changed, key))
          .catch(() => undefined);
        // A key id, and annotations, are the plugin's, and this one does not look at them.
        if (read) assert.deepEqual([name, Buffer.from(read.bytes)], ['kms', plain], `byte ${at}`);
      }
    }
  });

  test('of arbitrary bytes behind a known prefix fails, and neither hangs nor crashes', async () => {
    for (const name of names) {
      const transformer = await opened(providers[name]);
      const { length } = transformer.toStored(Buffer.alloc(0), key);
      const prefix = Buffer.from(transformer.toStored(plain, key)).subarray(0, Math.min(length, 22));
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.nat(22), async (bytes, cut) => {
          const stored = Buffer.concat([prefix.subarray(0, cut), bytes]);
          await Promise.resolve()
            .then(() => transformer.fromStored(stored, key))
            .then(({ bytes: read }) => assert.notDeepEqual(Buffer.from(read), plain))
            .catch((error) => assert.equal(error instanceof Error, true));
        }),
        { numRuns: 300 },
      );
    }
  });
});

describe('several providers and keys', () => {
  const [old, current] = [keyed('aescbc', 'key1'), keyed('aescbc', 'key2')];
  const moved: Readonly<Record<string, readonly [before: readonly object[], after: readonly object[]]>> = {
    'a key behind another one': [[old], [keyed('aescbc', 'key2', 'key1')]],
    'a provider behind another one of its type': [[old], [current, old]],
    'a provider behind one of another type': [[old], [keyed('secretbox', 'key9'), old]],
    'a provider behind none': [[old], [identity, old]],
    'none behind a provider': [[identity], [current, identity]],
    'a plugin behind another one': [[plugin('one')], [plugin('two'), plugin('one')]],
  };
  for (const [name, [before, after]] of Object.entries(moved)) {
    test(`${name}: its values are stale until they are written again`, async () => {
      const [first, second] = [await opened(...before), await opened(...after)];
      const stored = first.toStored(plain, key);
      const read = await second.fromStored(stored, key);
      assert.deepEqual([Buffer.from(read.bytes), read.stale], [plain, true]);
      const fresh = await second.fromStored(second.toStored(read.bytes, key), key);
      assert.deepEqual([Buffer.from(fresh.bytes), fresh.stale], [plain, false]);
    });
  }

  const unreadable: Readonly<Record<string, readonly [before: readonly object[], after: readonly object[], RegExp]>> = {
    'another key name': [[old], [current], /no matching key was found/],
    'the name of the key with another secret': [
      [keyed('aesgcm', 'key1')],
      [{ aesgcm: { keys: [{ name: 'key1', secret: secretOf(7) }] } }],
      /message authentication failed/,
    ],
    'another provider': [[old], [keyed('secretbox', 'key1')], /no matching prefix found/],
    'no encryption': [[old], [identity], /no matching prefix found/],
    'another plugin': [[plugin('one')], [plugin('two')], /no matching prefix found/],
    'none before': [[identity], [old], /no matching prefix found/],
  };
  for (const [name, [before, after, problem]] of Object.entries(unreadable)) {
    test(`a value is unreadable with ${name}`, async () => {
      const stored = (await opened(...before)).toStored(plain, key);
      const transformer = await opened(...after);
      await assert.rejects(async () => transformer.fromStored(stored, key), problem);
    });
  }
});

describe('the rule of a resource', () => {
  const rules = configuration(
    [['secrets', 'pandas.bears.example'], keyed('aescbc', 'exact')],
    [['*.apps'], keyed('aescbc', 'group')],
    [['*.'], keyed('aescbc', 'core')],
    [['*.*'], keyed('aescbc', 'all')],
  );
  const wanted: readonly (readonly [key: string, used: string])[] = [
    ['/core/secrets/default/a', 'exact'],
    ['/.scopes/one/core/secrets/default/a', 'exact'],
    ['/bears.example/pandas/default/a', 'exact'],
    ['/apps/deployments/default/a', 'group'],
    ['/core/configmaps/default/a', 'core'],
    ['/batch/jobs/default/a', 'all'],
    ['/bears.example/others/a', 'all'],
  ];
  test('is that of its name, its group, or of all', async () => {
    const { transformer } = await new EncryptionFixture().open(rules);
    for (const [at, name] of wanted) {
      const stored = Buffer.from(transformer.toStored(plain, at)).toString('latin1');
      assert.equal(stored.startsWith(`k8s:enc:aescbc:v1:${name}:`), true, at);
    }
  });

  test('is none for what the server keeps for itself', async () => {
    const { transformer } = await new EncryptionFixture().open(rules);
    for (const at of ['/.dialect', '/.claims/a']) {
      assert.deepEqual(transformer.toStored(plain, at), plain);
      assert.deepEqual(await transformer.fromStored(plain, at), { bytes: plain, stale: false });
    }
  });

  test('is none for others, whose encrypted values are unreadable', async () => {
    const transformer = await opened(keyed('aescbc', 'key1'));
    const at = '/core/configmaps/default/a';
    assert.deepEqual(transformer.toStored(plain, at), plain);
    assert.deepEqual(await transformer.fromStored(plain, at), { bytes: plain, stale: false });
    assert.throws(() => transformer.fromStored(transformer.toStored(plain, key), at), /no matching prefix found/);
  });

  test('of two lists is joined from both', async () => {
    const { transformer } = await new EncryptionFixture().open(
      configuration([['secrets'], keyed('aescbc', 'key2')], [['secrets'], keyed('aescbc', 'key1')]),
    );
    const stored = (await opened(keyed('aescbc', 'key1'))).toStored(plain, key);
    const read = await transformer.fromStored(stored, key);
    assert.deepEqual([Buffer.from(read.bytes), read.stale], [plain, true]);
  });
});
