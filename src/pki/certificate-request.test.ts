import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commonNameOfRequest } from './certificate-request.ts';
import { bitString, explicit, objectIdentifier, sequence, setOf, unsignedInteger, utf8String } from './der.ts';

const commonName = '2.5.4.3';
const organization = '2.5.4.10';

const attribute = (id: string, text: string | Buffer): Buffer =>
  sequence(objectIdentifier(id), typeof text === 'string' ? utf8String(text) : text);

/** A certificate request with this subject; the rest is a placeholder. */
function requestOf(...relativeNames: readonly Buffer[]): Buffer {
  const key = sequence(sequence(objectIdentifier('1.3.101.112')), bitString(Buffer.alloc(32)));
  const info = sequence(unsignedInteger(Buffer.from([0])), sequence(...relativeNames), key, explicit(0));
  return sequence(info, sequence(objectIdentifier('1.3.101.112')), bitString(Buffer.alloc(64)));
}

const pem = (der: Buffer, label = 'CERTIFICATE REQUEST'): string =>
  `-----BEGIN ${label}-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`;

const named = requestOf(setOf(attribute(organization, 'system:nodes')), setOf(attribute(commonName, 'system:node:n1')));

/** Created by openssl: P-256, `/O=system:nodes/CN=system:node:n1`. */
const real = `-----BEGIN CERTIFICATE REQUEST-----
MIHsMIGSAgEAMDAxFTATBgNVBAoMDHN5c3RlbTpub2RlczEXMBUGA1UEAwwOc3lz
dGVtOm5vZGU6bjEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQSgmrN/AUZj7bR
6MELBjVqvhjJqNu0lMwY0mONcUQXNZsxgJBKujP68R+5/2wvDSWYrr/1NJwRfGay
yBqtrQEhoAAwCgYIKoZIzj0EAwIDSQAwRgIhANzeUitT5cIlYoRTN8DMql1yypsa
7EGn95K1YwaMd0eZAiEA1yjybnYKJJSl6CxQfW9NLLBy0F/8R3MNmg1khrveIFA=
-----END CERTIFICATE REQUEST-----`;

describe('the common name of a certificate request', () => {
  it('of a request built here', async () => assert.equal(await commonNameOfRequest(pem(named)), 'system:node:n1'));
  it('of a request from openssl', async () => assert.equal(await commonNameOfRequest(real), 'system:node:n1'));
  it('with text around it', async () => assert.equal(await commonNameOfRequest(`a\n${pem(named)}b`), 'system:node:n1'));
  it('without one', async () =>
    assert.equal(await commonNameOfRequest(pem(requestOf(setOf(attribute(organization, 'o'))))), ''));
  it('as a PrintableString', async () => {
    const text = Buffer.concat([Buffer.from([0x13, 2]), Buffer.from('n1')]);
    assert.equal(await commonNameOfRequest(pem(requestOf(setOf(attribute(commonName, text))))), 'n1');
  });
});

const name = (text: string): Buffer => setOf(attribute(commonName, text));
const refusals: readonly (readonly [what: string, text: string, message: RegExp])[] = [
  ['nothing', '', /PEM block type/],
  ['no PEM', 'system:node:n1', /PEM block type/],
  ['another block', pem(named, 'CERTIFICATE'), /PEM block type/],
  ['an older label', pem(named, 'NEW CERTIFICATE REQUEST'), /PEM block type/],
  ['two requests', pem(named) + pem(named), /there must be one/],
  ['another block before', pem(named, 'CERTIFICATE') + pem(named), /there must be one/],
  ['another block after', pem(named) + pem(named, 'CERTIFICATE'), /there must be one/],
  ['no end', pem(named).replace('-----END', ''), /PEM block type/],
  ['headers', pem(named).replace('\n', '\nA: b\n'), /not base64/],
  ['nothing within', '-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----', /not base64/],
  ['two common names', pem(requestOf(name('a'), name('b'))), /more than one/],
  [
    'two common names in one set',
    pem(requestOf(setOf(Buffer.concat([attribute(commonName, 'a'), attribute(commonName, 'b')])))),
    /more than one/,
  ],
  ['the same name twice', pem(requestOf(name('a'), name('a'))), /more than one/],
  [
    'a name that is a number',
    pem(requestOf(setOf(attribute(commonName, unsignedInteger(Buffer.from([1])))))),
    /not valid DER/,
  ],
  ['an attribute without value', pem(requestOf(setOf(sequence(objectIdentifier(commonName))))), /not valid DER/],
  ['bytes after it', pem(Buffer.concat([named, Buffer.from([5, 0])])), /not valid DER/],
  ['cut off', pem(named.subarray(0, -1)), /not valid DER/],
  ['only its first byte', pem(named.subarray(0, 1)), /not valid DER/],
  ['not a sequence', pem(utf8String('x')), /not valid DER/],
  ['empty', pem(sequence()), /not valid DER/],
];

describe('rejected requests', () => {
  for (const [what, text, message] of refusals) {
    it(what, () => assert.rejects(commonNameOfRequest(text), message));
  }

  it('in linear time', async () => {
    const many = '-----BEGIN CERTIFICATE REQUEST-----\n'.repeat(50_000);
    await assert.rejects(commonNameOfRequest(many), /there must be one|PEM block type/);
    const spaces = pem(named).replace('\n', ' '.repeat(2_000_000)).replace('-----END', '!-----END');
    await assert.rejects(commonNameOfRequest(spaces), /not base64/);
  });
});
