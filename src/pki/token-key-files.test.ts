import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemFiles } from '../base/files.ts';
import { silentLogger } from '../base/logger.ts';
import { ManualClock } from '../base/time/clock.ts';
import { TokenKeyFiles } from './token-key-files.ts';

const makeKey = (): { readonly privatePem: string; readonly publicPem: string } => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    privatePem: privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
};
const [one, two, three] = [makeKey(), makeKey(), makeKey()];

function setUp(context: TestContext, texts: { readonly keys: string; readonly signing?: string }) {
  const directory = mkdtempSync(join(tmpdir(), 'orch-token-keys-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const write = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };
  const load = (name: string, text: string) => {
    const path = write(name, text);
    return { path, content: readFileSync(path) };
  };
  const clock = new ManualClock();
  const errors: string[] = [];
  const files = new TokenKeyFiles({
    files: systemFiles,
    keyFiles: [load('keys.pem', texts.keys)],
    ...(texts.signing !== undefined && { signingKeyFile: load('signing.pem', texts.signing) }),
    clock,
    logger: { ...silentLogger, error: (message, fields) => errors.push(`${message}: ${fields?.['error']}`) },
  });
  context.after(() => {
    files.close();
    assert.equal(clock.pending, 0);
  });
  return { files, write, clock, errors };
}

const ids = (files: TokenKeyFiles): readonly string[] => files.current().all.map(({ id }) => id);

test('added and removed keys take effect without a restart', (context) => {
  const { files, write, clock } = setUp(context, { keys: one.publicPem });
  const before = files.current();
  const [first] = ids(files);
  write('keys.pem', one.publicPem + two.publicPem);
  clock.advance(2_000);
  const [kept, added] = ids(files);
  assert.equal(kept, first);
  assert.notEqual(files.current(), before);
  assert.equal(before.all.length, 1);
  write('keys.pem', two.publicPem);
  clock.advance(2_000);
  assert.deepEqual(ids(files), [added]);
  assert.equal(files.current().byId.get(added ?? '')?.id, added);
});

test('a file that becomes invalid changes nothing, and is reported', (context) => {
  const { files, write, clock, errors } = setUp(context, { keys: one.publicPem });
  const before = files.current();
  write('keys.pem', 'nothing');
  clock.advance(2_000);
  assert.equal(files.current(), before);
  assert.match(errors.join('\n'), /^keys of tokens stay as they are: .*keys\.pem has no PEM block/);
});

test('the signing key verifies too, and follows its file', (context) => {
  const { files, write, clock } = setUp(context, { keys: one.publicPem, signing: two.privatePem });
  assert.deepEqual(ids(files), [ids(files)[0], files.current().signingKey?.id]);
  assert.ok(files.current().all.every((key) => !('privateKey' in key)));
  const before = files.current().signingKey?.id;
  write('signing.pem', three.privatePem);
  clock.advance(2_000);
  assert.notEqual(files.current().signingKey?.id, before);
  assert.ok(files.current().byId.has(files.current().signingKey?.id ?? ''));
  assert.ok(!files.current().byId.has(before ?? ''));
});

test('a signing key that is also a verification key is listed once', (context) => {
  const { files } = setUp(context, { keys: two.publicPem + one.publicPem, signing: one.privatePem });
  assert.equal(files.current().all.length, 2);
});

test('invalid files fail the start', (context) => {
  assert.throws(() => setUp(context, { keys: '' }), /keys\.pem has no PEM block/);
  assert.throws(
    () => setUp(context, { keys: one.publicPem, signing: one.publicPem }),
    /signing\.pem has no PEM block of a private key/,
  );
});
