import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import type { Encryption } from './encryption.ts';
import { configuration, EncryptionFixture, identity, keyed, plugin } from './encryption-fixture.ts';

const key = '/core/secrets/default/one';
const plain = Buffer.from('{"kind":"Secret"}');
const [one, two] = [keyed('aescbc', 'key1'), keyed('aescbc', 'key2')];
const before = configuration([['secrets'], one, identity]);

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function opened(content: Uint8Array = before, reload = true) {
  const fixture = new EncryptionFixture();
  const encryption = await fixture.open(content, { reload });
  const { transformer } = encryption;
  const isStale = async (stored: Uint8Array) => (await transformer.fromStored(stored, key)).stale;
  return { fixture, encryption, transformer, isStale, write: () => transformer.toStored(plain, key) };
}

describe('a new configuration', () => {
  test('counts for the next value, and makes those of the former key stale', async () => {
    const { fixture, encryption, isStale, write } = await opened();
    const stored = write();
    await encryption.replace(configuration([['secrets'], two, one]));
    assert.deepEqual([await isStale(stored), await isStale(write())], [true, false]);
    assert.deepEqual([fixture.reloads, fixture.readable], [['success'], 1]);
  });

  test('that is the same is none', async () => {
    const { fixture, encryption } = await opened();
    await encryption.replace(Buffer.from(before));
    assert.deepEqual(fixture.reloads, []);
  });

  const broken = {
    'is broken': Buffer.from('resources: ['),
    'is invalid': configuration([['Secrets'], one]),
    'is empty': Buffer.alloc(0),
  };
  for (const [name, content] of Object.entries(broken)) {
    test(`that ${name} leaves the one before in use, and the next good one counts`, async () => {
      const { fixture, encryption, isStale, write } = await opened();
      const stored = write();
      await encryption.replace(content);
      assert.deepEqual([fixture.reloads, await isStale(stored)], [['failure'], false]);
      await encryption.replace(configuration([['secrets'], two, one]));
      assert.deepEqual([fixture.reloads, await isStale(stored)], [['failure', 'success'], true]);
    });
  }

  test('waits for its plugins, and is tried again where they were not healthy', async () => {
    const { fixture, encryption, transformer, isStale, write } = await opened();
    const stored = write();
    const kms = fixture.plugin();
    kms.down = 'Unavailable';
    let done = false;
    const replaced = encryption.replace(configuration([['secrets'], plugin('plugin'), one])).then(() => {
      done = true;
    });
    while (!done) {
      await settled();
      fixture.clock.advance(limits.encryptionReloadLookMs);
    }
    await replaced;
    assert.deepEqual([fixture.reloads, await isStale(stored), kms.closed], [['failure'], false, 1]);
    kms.down = undefined;
    while (fixture.reloads.length < 2) {
      fixture.clock.advance(limits.encryptionRetryMsMin);
      await settled();
    }
    assert.deepEqual([fixture.reloads, await isStale(stored)], [['failure', 'success'], true]);
    assert.match(Buffer.from(transformer.toStored(plain, key)).toString('latin1'), /^k8s:enc:kms:v2:plugin:/);
    assert.equal(await encryption.problem(), undefined);
  });

  test('closes the plugins of the one before when their calls have ended', async () => {
    const { fixture, encryption } = await opened(configuration([['secrets'], plugin('plugin')]));
    const kms = fixture.plugin();
    await encryption.replace(configuration([['secrets'], plugin('other'), plugin('plugin')]));
    assert.equal(kms.closed, 0);
    fixture.clock.advance(2 * 3_000);
    assert.equal(kms.closed, 1, 'the former connection; the new one goes on');
  });
});

describe('a value with a key that is not known', () => {
  /** Two servers that follow one file; the first has read its newest content. */
  async function behind() {
    const { transformer: ahead } = await opened(configuration([['secrets'], two, one]));
    const fixture = new EncryptionFixture();
    let looks = 0;
    let file = before;
    const encryption = await fixture.open(before, {
      reload: true,
      look() {
        looks++;
        void encryption.replace(file);
      },
    });
    return {
      ...{ fixture, transformer: encryption.transformer, stored: ahead.toStored(plain, key), looks: () => looks },
      change: () => {
        file = configuration([['secrets'], two, one]);
      },
    };
  }
  const read = async (value: ReturnType<Encryption['transformer']['fromStored']>) => Buffer.from((await value).bytes);

  test('has the file looked at, before it counts as unreadable', async () => {
    const { transformer, stored, looks, change } = await behind();
    change();
    const values = Array.from({ length: 50 }, () => transformer.fromStored(stored, key));
    for (const value of values) assert.deepEqual(await read(value), plain);
    assert.equal(looks(), 1);
  });

  test('waits for the next look, if there was one just before', async () => {
    const { fixture, transformer, stored, looks, change } = await behind();
    await assert.rejects(read(transformer.fromStored(stored, key)));
    assert.equal(looks(), 1);
    change();
    const value = read(transformer.fromStored(stored, key));
    fixture.clock.advance(limits.encryptionUnknownKeyLookMs - 1);
    await settled();
    assert.equal(looks(), 1);
    fixture.clock.advance(1);
    assert.deepEqual(await value, plain);
    assert.equal(looks(), 2);
  });
});

describe('whether a form may change while a server runs', () => {
  const cases: readonly (readonly [name: string, content: Uint8Array, reload: boolean, wanted: boolean])[] = [
    ['keys', before, false, false],
    ['keys that are reloaded', before, true, true],
    ['a plugin', configuration([['secrets'], plugin('plugin')]), false, true],
  ];
  for (const [name, content, reload, wanted] of cases) {
    test(`is ${wanted} with ${name}`, async () => {
      const { transformer } = await opened(content, reload);
      assert.equal(transformer.formMayChange?.(key), wanted);
      assert.equal(transformer.formMayChange?.('/.dialect'), false);
    });
  }
});
