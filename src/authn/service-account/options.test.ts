import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readServiceAccountTokens, ServiceAccountFlagError, type ServiceAccountTokenFlags } from './options.ts';
import { makeSigningKey } from './token-fixture.ts';

const { privateKey, publicKey } = makeSigningKey();
const files: Readonly<Record<string, string>> = {
  'sign.pem': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  'keys.pem': publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  'bad.pem': 'nothing',
};
function readFile(path: string): Buffer {
  const text = files[path];
  if (text === undefined) throw new Error(`${path} cannot be read`);
  return Buffer.from(text);
}

const none: ServiceAccountTokenFlags = {
  'service-account-key-file': [],
  'service-account-signing-key-file': undefined,
  'service-account-issuer': [],
  'service-account-jwks-uri': undefined,
  'service-account-lookup': true,
  'service-account-max-token-expiration': undefined,
  'service-account-extend-token-expiration': true,
  'api-audiences': [],
  'tls-private-key-file': undefined,
};
const signing: ServiceAccountTokenFlags = {
  ...none,
  'service-account-signing-key-file': 'sign.pem',
  'service-account-issuer': ['https://new.test', 'old'],
};
const read = (flags: Partial<ServiceAccountTokenFlags>, base = signing) =>
  readServiceAccountTokens({ ...base, ...flags }, readFile);

test('a key and an issuer are enough to sign and to verify', () => {
  assert.deepEqual(read({}), {
    keyFiles: [],
    signingKeyFile: { path: 'sign.pem', content: readFile('sign.pem') },
    issuers: ['https://new.test', 'old'],
    apiAudiences: ['https://new.test', 'old'],
    jwksUri: undefined,
    lookup: true,
    maxExpirationSeconds: undefined,
    extendExpiration: true,
    warnings: [],
  });
});

test('audiences of the API are the issuers unless they are named', () => {
  assert.deepEqual(read({ 'api-audiences': ['api'] })?.apiAudiences, ['api']);
});

test('without any key tokens are not supported', () => assert.equal(read({}, none), undefined));

test("the listener's key verifies if no other key is given", () => {
  const paths = (flags: Partial<ServiceAccountTokenFlags>, base = none) =>
    read({ 'tls-private-key-file': 'sign.pem', ...flags }, base)?.keyFiles.map(({ path }) => path);
  assert.deepEqual(paths({}), ['sign.pem']);
  assert.deepEqual(paths({ 'service-account-key-file': ['keys.pem'] }), ['keys.pem']);
  assert.deepEqual(paths({}, signing), ['sign.pem'], 'beside one that signs');
  assert.deepEqual(paths({ 'tls-private-key-file': 'bad.pem' }, signing), []);
  assert.deepEqual(read({ 'tls-private-key-file': 'bad.pem' })?.warnings, []);
  assert.equal(paths({ 'tls-private-key-file': 'bad.pem' }), undefined);
});

test('the maximum is in seconds', () => {
  const maximum = (ms: number) => read({ 'service-account-max-token-expiration': ms });
  assert.equal(maximum(0)?.maxExpirationSeconds, undefined);
  assert.equal(maximum(2 ** 32 * 1000)?.maxExpirationSeconds, 2 ** 32);
  assert.equal(maximum(3_600_000)?.maxExpirationSeconds, 3600);
  assert.match(maximum(3_600_000)?.warnings.join() ?? '', /no token is extended, since none of 3607 s is granted/);
  assert.match(maximum(7_200_000)?.warnings.join() ?? '', /extended tokens are valid for 31536000 s all the same/);
  assert.deepEqual(maximum(366 * 24 * 3_600_000)?.warnings, []);
});

const wrong: readonly (readonly [Partial<ServiceAccountTokenFlags>, RegExp])[] = [
  [{ 'service-account-issuer': [''] }, /^--service-account-issuer: must not be empty$/],
  [
    { 'service-account-issuer': ['http://[::1]:port'] },
    /^--service-account-issuer: "http:.*" has a colon and is no URL$/,
  ],
  [{ 'service-account-issuer': ['a', 'b', 'a'] }, /^--service-account-issuer: "a" is given twice$/],
  [{ 'service-account-issuer': [] }, /^--service-account-signing-key-file: needs --service-account-issuer$/],
  [
    { 'service-account-signing-key-file': undefined },
    /^--service-account-issuer: needs --service-account-signing-key-file$/,
  ],
  [
    { 'service-account-signing-key-file': 'keys.pem' },
    /^--service-account-signing-key-file: keys\.pem has no PEM block of a private key$/,
  ],
  [
    { 'service-account-signing-key-file': 'gone.pem' },
    /^--service-account-signing-key-file: gone\.pem cannot be read$/,
  ],
  [{ 'service-account-key-file': ['keys.pem', 'bad.pem'] }, /^--service-account-key-file: bad\.pem has no PEM block/],
  [
    { 'service-account-jwks-uri': 'http://keys.test' },
    /^--service-account-jwks-uri: "http:\/\/keys\.test" is no https URL$/,
  ],
  [{ 'service-account-jwks-uri': 'keys' }, /^--service-account-jwks-uri: /],
  [
    { 'service-account-max-token-expiration': 3_599_999 },
    /^--service-account-max-token-expiration: must be between 1 hour/,
  ],
  [{ 'service-account-max-token-expiration': 2 ** 32 * 1000 + 1 }, /^--service-account-max-token-expiration: must be/],
];

for (const [flags, message] of wrong) {
  test(`refused: ${JSON.stringify(flags)}`, () => {
    assert.throws(
      () => read(flags),
      (error: unknown) => error instanceof ServiceAccountFlagError && message.test(error.message),
    );
  });
}
