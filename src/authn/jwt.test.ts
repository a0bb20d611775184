import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../base/limits.ts';
import { decodeBase64url, unverifiedJwt } from './jwt.ts';

const encode = (text: string | Uint8Array): string => Buffer.from(text).toString('base64url');
const header = encode('{"alg":"ES256"}');
const claims = encode('{"iss":"i","n":9007199254740993}');

test('a compact token is decoded', () => {
  const jwt = unverifiedJwt(`${header}.${claims}.AAEC`);
  assert.deepEqual(jwt?.header, { alg: 'ES256' });
  assert.deepEqual(jwt?.claims, { iss: 'i', n: 9007199254740993n });
  assert.equal(jwt?.signingInput, `${header}.${claims}`);
  assert.deepEqual(jwt?.signature, Buffer.from([0, 1, 2]));
});

test('a token without a signature is decoded', () => {
  assert.equal(unverifiedJwt(`${header}.${claims}.`)?.signature.length, 0);
});

const notTokens: Readonly<Record<string, string>> = {
  empty: '',
  'one part': header,
  'two parts': `${header}.${claims}`,
  'four parts': `${header}.${claims}.AAEC.AAEC`,
  'four parts, the last empty': `${header}.${claims}.AAEC.`,
  'no header': `.${claims}.AAEC`,
  'no claims': `${header}..AAEC`,
  'padded header': `${Buffer.from('{"alg":"x"}').toString('base64')}.${claims}.AAEC`,
  'padded signature': `${header}.${claims}.AAE=`,
  'blank before': ` ${header}.${claims}.AAEC`,
  'blank after': `${header}.${claims}.AAEC `,
  'line break inside': `${header}.${claims.slice(0, 8)}\n${claims.slice(8)}.AAEC`,
  'carriage return at the end': `${header}.${claims}.AAEC\r`,
  'plus and slash of plain base64': `${header}.${claims}.+/+/`,
  'a NUL': `${header}.${claims}.AAEC\0`,
  'wide characters that end in base64url bytes': `${header}.${claims}.AAE\u0143`,
  'leftover bits': `${header}.${claims}.AAF`,
  'a single trailing character': `${header}.${claims}.AAECA`,
  'header not UTF-8': `${encode(Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))}.${claims}.AAEC`,
  'header with a byte order mark': `${encode('\ufeff{"alg":"ES256"}')}.${claims}.AAEC`,
  'header not JSON': `${encode('alg')}.${claims}.AAEC`,
  'header a list': `${encode('[]')}.${claims}.AAEC`,
  'header null': `${encode('null')}.${claims}.AAEC`,
  'claims text': `${header}.${encode('"iss"')}.AAEC`,
  'something after the claims': `${header}.${encode('{} {}')}.AAEC`,
  'a header field twice': `${encode('{"alg":"none","alg":"ES256"}')}.${claims}.AAEC`,
  'a header field twice, once escaped': `${encode('{"alg":"none","\\u0061lg":"ES256"}')}.${claims}.AAEC`,
  'a claim twice': `${header}.${encode('{"iss":"a","iss":"b"}')}.AAEC`,
  'an inner claim twice': `${header}.${encode('{"a":{"b":1,"b":2}}')}.AAEC`,
  'claims nested too deep': `${header}.${encode('['.repeat(100) + ']'.repeat(100))}.AAEC`,
  'too long': `${header}.${claims}.${'A'.repeat(limits.tokenLengthMax)}`,
};

for (const [name, token] of Object.entries(notTokens)) {
  test(`not a compact token: ${name}`, () => assert.equal(unverifiedJwt(token), undefined));
}

test('fields named like prototype properties are own fields', () => {
  const jwt = unverifiedJwt(`${header}.${encode('{"__proto__":{"iss":"x"},"constructor":1}')}.AAEC`);
  assert.equal(jwt?.claims['iss'], undefined);
  assert.deepEqual(Object.keys(jwt?.claims ?? {}), ['__proto__', 'constructor']);
});

test('only canonical base64url is decoded', () => {
  assert.deepEqual(decodeBase64url('_-8'), Buffer.from([0xff, 0xef]));
  for (const text of ['_-9', '/+8', '_-8=', 'A', '_ -8']) assert.equal(decodeBase64url(text), undefined, text);
});
