import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { makeCertificate } from '../pki/certificate-fixture.ts';
import { caBundleProblem } from './webhook-client-errors.ts';

describe('the caBundle of a webhook', () => {
  const { cert } = makeCertificate({ name: 'webhook', authority: true });
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const unreadable = (why: string): string => `unable to load root certificates: ${why}`;
  const rows: readonly (readonly [what: string, pem: string, problem: string | undefined])[] = [
    ['empty: the authorities of the system', '', undefined],
    ['one certificate', cert, undefined],
    ['a certificate after a key', `-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n${cert}`, undefined],
    ['a certificate after malformed ones', broken.repeat(limits.caBundleFaultsMax - 1) + cert, undefined],
    ['no block', 'certificate', unreadable('unable to parse bytes as PEM block')],
    [
      'no certificate',
      '-----BEGIN X-----\nAAAA\n-----END X-----\n',
      unreadable('no valid certificate authority data seen'),
    ],
    ['a malformed certificate', broken, unreadable('failed to parse certificate')],
    [
      'too many malformed ones',
      broken.repeat(limits.caBundleFaultsMax) + cert,
      unreadable('failed to parse certificate'),
    ],
  ];
  for (const [what, pem, problem] of rows) {
    it(what, () => assert.equal(caBundleProblem(Buffer.from(pem).toString('base64')), problem));
  }
});
