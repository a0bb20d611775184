import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { configuration, EncryptionFixture, plugin } from '../encryption-fixture.ts';
import type { KmsPluginFixture } from './kms-plugin-fixture.ts';

const key = '/core/secrets/default/one';
const plain = Buffer.from('{"kind":"Secret"}');
const content = configuration([['secrets'], plugin('plugin')]);

/** Lets what was resolved go on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function opened(prepare: (plugin: KmsPluginFixture) => void = () => {}) {
  const fixture = new EncryptionFixture();
  const kms = fixture.plugin();
  prepare(kms);
  const encryption = await fixture.open(content);
  const { transformer } = encryption;
  /** The clock advances by so much, and what that starts ends. */
  const pass = async (ms: number): Promise<void> => {
    fixture.clock.advance(ms);
    for (let turn = 0; turn < 5; turn++) await settled();
  };
  const read = async (stored: Uint8Array) => {
    const { bytes, stale } = await transformer.fromStored(stored, key);
    return { text: Buffer.from(bytes).toString(), stale };
  };
  return { fixture, kms, encryption, transformer, pass, read, write: () => transformer.toStored(plain, key) };
}

const current = { text: String(plain), stale: false };
const stale = { text: String(plain), stale: true };

describe('values of a plugin', () => {
  test('are written and read without it, once it has encrypted a seed', async () => {
    const { kms, write, transformer, fixture } = await opened();
    for (let count = 0; count < 100; count++) {
      assert.equal(transformer.fromStored(write(), key) instanceof Promise, false);
    }
    assert.deepEqual(kms.calls, ['Status', 'Encrypt']);
    assert.match(fixture.metrics.render(), /key_id_hash_total\{transformation_type="to_storage".*\} 100\n/);
  });

  test('of another server wait for one call together, and later ones for none', async () => {
    const [one, other] = [await opened(), await opened()];
    const stored = Array.from({ length: 20 }, () => one.write());
    assert.deepEqual(await Promise.all(stored.map(other.read)), Array(20).fill(current));
    assert.equal(other.kms.count('Decrypt'), 1);
    assert.equal(other.transformer.fromStored(one.write(), key) instanceof Promise, false);
  });

  test('become stale when the status names another key, and new ones are encrypted by it', async () => {
    const { kms, write, read, pass } = await opened();
    const before = write();
    kms.keyId = 'key-2';
    assert.deepEqual(await read(before), current);
    await pass(limits.kmsPollMs);
    assert.deepEqual(await read(before), stale);
    assert.deepEqual(await read(write()), current);
    assert.deepEqual(kms.calls, ['Status', 'Encrypt', 'Status', 'Encrypt']);
  });

  test('keep the seed as long as the key is the same', async () => {
    const { kms, write, read, pass } = await opened();
    for (let minute = 0; minute < 10; minute++) await pass(limits.kmsPollMs);
    assert.deepEqual(await read(write()), current);
    assert.deepEqual([kms.count('Encrypt'), kms.count('Status')], [1, 11]);
  });
});

describe('a plugin that is down', () => {
  test('stops no write for three minutes, then all, until it answers again; reads go on', async () => {
    const { kms, write, read, pass, encryption } = await opened();
    const stored = write();
    kms.down = 'Unavailable';
    await pass(limits.kmsPollMs);
    assert.match(
      (await encryption.problem()) ?? '',
      /^kms-provider-0: failed to perform status section of the healthz check/,
    );
    await pass(limits.kmsSeedWriteMs - limits.kmsPollMs);
    write();
    await pass(1);
    assert.throws(write, /^Error: encryptedDEKSource with keyID hash "sha256:[0-9a-f]{64}" expired at /);
    assert.deepEqual(await read(stored), current);
    kms.down = undefined;
    await pass(limits.kmsPollFailingMs);
    assert.equal(await encryption.problem(), undefined);
    assert.deepEqual(await read(write()), current);
    assert.equal(kms.count('Encrypt'), 1, 'the seed goes on');
  });

  test('does not prevent a start: writes fail, and values are unreadable until it comes', async () => {
    const other = await opened();
    const stored = other.write();
    const { kms, write, read, pass, encryption, fixture } = await opened((made) => {
      made.down = 'Unavailable';
    });
    assert.match((await encryption.problem()) ?? '', /plugin is down/);
    assert.throws(write, /has not encrypted a key yet/);
    await assert.rejects(read(stored), /^Undecryptable: failed to decrypt DEK, error: rpc error: code = Unavailable/);
    await assert.rejects(read(stored));
    assert.equal(kms.count('Decrypt'), 1, 'a failure is not asked for again at once');
    kms.down = undefined;
    await pass(limits.kmsPollFailingMs);
    assert.equal(fixture.readable, 1);
    assert.deepEqual(await read(stored), current);
    assert.deepEqual(await read(write()), current);
  });

  test('is asked again by itself for a seed that it could not decrypt', async () => {
    const other = await opened();
    const stored = other.write();
    const { kms, read, pass, fixture } = await opened((made) => {
      made.lost.add('key-1');
      made.keyId = 'key-2';
    });
    await assert.rejects(read(stored), /there is no key key-1/);
    await pass(limits.kmsPollFailingMs * 2);
    assert.equal(fixture.readable, 0);
    kms.lost.clear();
    await pass(limits.kmsRetryMsMax);
    assert.equal(fixture.readable, 1);
    assert.deepEqual(await read(stored), stale);
  });
});

describe('a plugin that decrypts to a wrong seed', () => {
  /** A server that has read a value with a wrong seed, so many times over. */
  async function misled(answers: Pick<KmsPluginFixture, 'wrong'> & Partial<KmsPluginFixture>) {
    const other = await opened();
    const server = await opened((made) => Object.assign(made, { keyId: 'key-2', ...answers }));
    const stored = other.write();
    await assert.rejects(server.read(stored), /message authentication failed/);
    return { ...server, stored, another: () => other.write() };
  }

  test('is asked again by itself, and what the seed encrypted is read again', async () => {
    const { kms, read, stored, another, pass, fixture } = await misled({ wrong: 1 });
    for (let count = 0; count < 20; count++) await assert.rejects(read(another()), /message authentication failed/);
    assert.equal(kms.count('Decrypt'), 1, 'reads do not ask');
    for (let round = 0; round < 3; round++) await pass(limits.kmsPollFailingMs);
    assert.deepEqual([kms.count('Decrypt'), fixture.readable], [2, 1]);
    assert.deepEqual(await read(stored), stale);
    await pass(limits.kmsRetryMsMax);
    assert.equal(kms.count('Decrypt'), 2, 'it is right');
  });

  for (const wrongAlike of [true, false]) {
    test(`${wrongAlike ? 'the same' : 'another'} each time is asked ever later, until it is right`, async () => {
      const { kms, read, stored, pass, fixture } = await misled({ wrong: 4, wrongAlike });
      const asked: number[] = [];
      for (let ms = 0; asked.length < 4 && ms < limits.kmsRetryMsMax; ms += limits.kmsPollFailingMs) {
        await pass(limits.kmsPollFailingMs);
        if (kms.count('Decrypt') > asked.length + 1) asked.push(ms);
        if (asked.length < 4) await assert.rejects(read(stored));
      }
      const waits = asked.map((at, index) => at - (asked[index - 1] ?? 0));
      assert.ok((waits[3] ?? 0) > (waits[1] ?? 0), String(waits));
      assert.equal(fixture.readable, wrongAlike ? 1 : 4, 'values are read again for another seed only');
      assert.deepEqual(await read(stored), stale);
    });
  }

  test('is not what a damaged value means: others are read meanwhile, and prove the seed', async () => {
    const other = await opened();
    const { kms, read, pass, fixture } = await opened();
    const [damaged, sound] = [Buffer.from(other.write()), other.write()];
    // Past the name of the provider, and the random bytes at the beginning of the data.
    const at = damaged.indexOf('plugin:') + 60;
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    await assert.rejects(read(damaged), /message authentication failed/);
    assert.deepEqual(await read(sound), current);
    for (let count = 0; count < 20; count++) await assert.rejects(read(damaged), /message authentication failed/);
    await pass(limits.kmsRetryMsMax);
    assert.deepEqual([kms.count('Decrypt'), fixture.readable], [1, 0]);
  });
});

describe('a plugin is unhealthy with', () => {
  const faults: Readonly<Record<string, readonly [change: Partial<KmsPluginFixture>, problem: RegExp]>> = {
    'another healthz': [{ healthz: 'sick' }, /error: got unexpected healthz status: sick$/],
    'another version': [{ version: 'v1' }, /expected KMSv2 API version v2, got v1/],
    'no key': [{ keyId: '' }, /got invalid KMSv2 KeyID hash "": keyID is empty/],
    'a long key': [{ keyId: 'k'.repeat(1025) }, /keyID is 1025 bytes, which exceeds the max size of 1024/],
    'a key that does not encrypt': [{ encryptsAs: 'other' }, /failed to rotate DEK/],
    'annotations that are no domains': [{ annotations: new Map([['plain', plain]]) }, /failed to validate annotations/],
    'large annotations': [
      { annotations: new Map([['a.b', Buffer.alloc(33_000)]]) },
      /total size of annotations is 33003, which exceeds the max size of 32768/,
    ],
  };
  for (const [name, [change, problem]] of Object.entries(faults)) {
    test(`${name}, and goes on with what was before`, async () => {
      const { kms, encryption, pass, write, read } = await opened();
      // Of a seed that stays, nothing is asked.
      Object.assign(kms, { keyId: 'key-2' }, change);
      await pass(limits.kmsPollMs);
      assert.match((await encryption.problem()) ?? '', problem);
      assert.deepEqual(await read(write()), current);
    });
  }

  test('a version that changes', async () => {
    const { kms, encryption, pass } = await opened();
    kms.version = 'v2beta1';
    await pass(limits.kmsPollMs);
    assert.match((await encryption.problem()) ?? '', /should not change after the initial status response version v2/);
  });
});

test('metrics count what was asked of a plugin, and name keys by their hash only', async () => {
  const other = await opened();
  const { read, fixture } = await opened();
  await read(other.write());
  const shown = fixture.metrics.render();
  for (const [method, count] of [
    ['Status', 1],
    ['Encrypt', 1],
    ['Decrypt', 1],
  ] as const) {
    const labels = `provider_name="plugin",method_name="/v2.KeyManagementService/${method}",grpc_status_code="OK"`;
    assert.match(shown, new RegExp(`kms_operations_latency_seconds_count\\{${labels}\\} ${count}\n`));
  }
  assert.match(shown, /envelope_encryption_dek_source_cache_size\{provider_name="plugin"\} 2\n/);
  assert.match(shown, /apiserver_storage_envelope_transformation_cache_misses_total 1\n/);
  assert.match(
    shown,
    /transformation_operations_total\{resource="secrets",transformation_type="from_storage",transformer_prefix="k8s:enc:kms:v2:plugin:",status="OK"\} 1\n/,
  );
  assert.equal(shown.includes('key-1'), false);
});

test('nothing is left when it closes', async () => {
  const { kms, encryption, pass } = await opened();
  encryption.close();
  await pass(10 * limits.kmsPollMs);
  assert.deepEqual([kms.closed, kms.count('Status')], [1, 1]);
});
