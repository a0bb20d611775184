import assert from 'node:assert/strict';
import type { X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { ManualClock } from '../base/time/clock.ts';
import {
  type CertificateRecipe,
  forClients,
  forServers,
  type MadeCertificate,
  makeCertificate,
  sentWith,
} from './certificate-fixture.ts';
import { authoritiesOf, TrustPool, UntrustedCertificate } from './trust-pool.ts';

const start = Date.UTC(2026, 0, 1);
const hourMs = 3600_000;
const make = (recipe: CertificateRecipe): MadeCertificate =>
  makeCertificate({ notBefore: start - hourMs, notAfter: start + hourMs, ...recipe });

const root = make({ name: 'root', authority: true });
const other = make({ name: 'other', authority: true });
const middle = make({ name: 'middle', authority: true, issuer: root });
const lower = make({ name: 'lower', authority: true, issuer: middle });
const leaf = (recipe: CertificateRecipe): MadeCertificate => make({ name: 'jane', uses: [forClients], ...recipe });
const ofRoot = leaf({ issuer: root });
const pool = (...authorities: readonly MadeCertificate[]): TrustPool =>
  new TrustPool(authorities.map(({ cert }) => cert).join(''), new ManualClock(start));

/** Why a pool does not trust a certificate; '' if it does. */
function distrust(trusting: TrustPool, certificate: X509Certificate): string {
  try {
    trusting.verify(certificate);
    return '';
  } catch (error) {
    assert.ok(error instanceof UntrustedCertificate);
    return error.message;
  }
}

describe('a pool trusts', () => {
  const renewedRoot = make({ name: 'root', authority: true, keyOf: root });
  const crossed = make({ name: 'middle', authority: true, issuer: other, keyOf: middle });
  const oldRoot = make({ name: 'root', version1: true });
  const rows: readonly (readonly [what: string, trusting: TrustPool, certificate: X509Certificate])[] = [
    ['a certificate of its authority', pool(root), sentWith(ofRoot)],
    ['a certificate of one of its authorities', pool(other, root), sentWith(ofRoot)],
    ['a certificate of an intermediate that was sent', pool(root), sentWith(leaf({ issuer: middle }), middle)],
    ['two intermediates', pool(root), sentWith(leaf({ issuer: lower }), lower, middle)],
    ['intermediates in any order, among others', pool(root), sentWith(leaf({ issuer: lower }), other, middle, lower)],
    ['the root sent too', pool(root), sentWith(leaf({ issuer: middle }), middle, root)],
    ['an intermediate as authority of its own', pool(middle), sentWith(leaf({ issuer: middle }))],
    ['an intermediate of the pool below the root of the pool', pool(root, middle), sentWith(leaf({ issuer: middle }))],
    ['a renewed authority of the same key', pool(renewedRoot), sentWith(ofRoot)],
    [
      'another path, if the first does not lead to an anchor',
      pool(other),
      sentWith(leaf({ issuer: middle }), middle, crossed),
    ],
    ['authorities of version 1', pool(oldRoot), sentWith(leaf({ issuer: oldRoot }))],
    ['an anchor itself', pool(ofRoot), sentWith(ofRoot)],
    ['without extended usages', pool(root), sentWith(make({ issuer: root }))],
    ['any usage', pool(root), sentWith(leaf({ issuer: root, uses: ['2.5.29.37.0'] }))],
    ['a path as long as allowed', ...pathOf({ pathLength: 1 })],
  ];
  for (const [what, trusting, certificate] of rows) {
    it(what, () => assert.equal(distrust(trusting, certificate), ''));
  }
});

function pathOf(authority: { readonly pathLength: number }): readonly [TrustPool, X509Certificate] {
  const top = make({ name: 'top', authority });
  const one = make({ name: 'one', authority: true, issuer: top });
  return [pool(top), sentWith(leaf({ issuer: one }), one)];
}

describe('a pool does not trust', () => {
  const forged = make({ name: 'root', authority: true });
  const noSigner = make({ name: 'middle', issuer: root });
  const noAuthority = make({ name: 'middle', issuer: root, withoutKeyUsage: true });
  const serversOnly = make({ name: 'middle', authority: true, issuer: root, uses: [forServers] });
  const strange = make({ name: 'middle', authority: true, issuer: root, criticalExtension: '1.2.3.4' });
  const version1 = make({ name: 'middle', version1: true, issuer: root });
  const old = { notBefore: start - 2 * hourMs, notAfter: start - 1_000 };
  const expiredMiddle = make({ name: 'middle', authority: true, issuer: root, ...old });
  const expiredRoot = make({ name: 'root', authority: true, ...old });
  const through = (issuer: MadeCertificate): X509Certificate => sentWith(leaf({ issuer }), issuer);
  const rows: readonly (readonly [what: string, trusting: TrustPool, certificate: X509Certificate, why: RegExp])[] = [
    ['a certificate of another authority', pool(other), sentWith(ofRoot), /signed by no authority/],
    ['a self-signed certificate', pool(root), sentWith(leaf({})), /signed by no authority/],
    ['an authority of the same name', pool(root), through(forged), /signed by no authority/],
    ['a missing intermediate', pool(root), sentWith(leaf({ issuer: middle })), /signed by no authority/],
    ['the certificate of an authority that was sent', pool(root), sentWith(leaf({ issuer: other }), other), /no auth/],
    [
      'a certificate signed by a leaf',
      pool(root),
      through(noAuthority),
      /above it is not the certificate of an authority/,
    ],
    [
      'a certificate signed by a key that may not sign certificates',
      pool(root),
      through(noSigner),
      /signed by no authority/,
    ],
    [
      'a certificate signed by a leaf in the pool',
      pool(noAuthority),
      sentWith(leaf({ issuer: noAuthority })),
      /not the cert/,
    ],
    ['an intermediate of version 1', pool(root), through(version1), /not the certificate of an authority/],
    ['for servers', pool(root), sentWith(leaf({ issuer: root, uses: [forServers] })), /not for client auth/],
    ['an authority for servers', pool(root), through(serversOnly), /above it is not for client authentication/],
    ['an unknown critical extension', pool(root), through(strange), /critical extension/],
    ['the same of the leaf', pool(root), sentWith(leaf({ issuer: root, criticalExtension: '1.2.3' })), /critical/],
    ['a path that is too long', ...pathOf({ pathLength: 0 }), /may not issue for authorities/],
    ['expired', pool(root), sentWith(leaf({ issuer: root, ...old })), /expired/],
    ['not valid yet', pool(root), sentWith(leaf({ issuer: root, notBefore: start + 1_000 })), /not valid yet/],
    ['an expired intermediate', pool(root), through(expiredMiddle), /expired/],
    ['an expired authority', pool(expiredRoot), sentWith(leaf({ issuer: expiredRoot })), /expired/],
  ];
  for (const [what, trusting, certificate, why] of rows) {
    it(what, () => assert.match(distrust(trusting, certificate), why));
  }
});

describe('time and change', () => {
  it('validity periods are respected', () => {
    const clock = new ManualClock(start);
    const trusting = new TrustPool(root.cert, clock);
    const short = sentWith(leaf({ issuer: root, notBefore: start + 2_000, notAfter: start + 4_000 }));
    const seen = [0, 1, 2, 3, 4, 5].map(() => {
      const trusted = distrust(trusting, short) === '';
      clock.advance(1_000);
      return trusted;
    });
    assert.deepEqual(seen, [false, false, true, true, true, false]);
  });

  it('replacing the anchors invalidates cached results', () => {
    const trusting = pool(root);
    const [one, two] = [sentWith(ofRoot), sentWith(leaf({ issuer: other }))];
    assert.equal(distrust(trusting, one), '');
    assert.notEqual(distrust(trusting, two), '');
    trusting.replace(other.cert);
    assert.notEqual(distrust(trusting, one), '');
    assert.equal(distrust(trusting, two), '');
    trusting.replace(other.cert + root.cert);
    assert.equal(distrust(trusting, one), '');
  });

  it('invalid new content leaves the old anchors', () => {
    const trusting = pool(root);
    for (const bad of ['', 'nonsense', ofRoot.key, root.cert.replace('MI', 'XX'), root.cert.slice(0, 200)]) {
      assert.throws(() => trusting.replace(bad));
      assert.throws(() => new TrustPool(bad, new ManualClock()));
    }
    assert.equal(distrust(trusting, sentWith(ofRoot)), '');
    assert.deepEqual(trusting.authorities, [root.cert]);
  });

  it('verifies a certificate once', () => {
    const trusting = pool(root);
    const certificate = sentWith(ofRoot);
    let looks = 0;
    const raw = certificate.raw;
    Object.defineProperty(certificate, 'raw', {
      get() {
        looks += 1;
        return raw;
      },
    });
    trusting.verify(certificate);
    assert.ok(looks > 0);
    const before = looks;
    trusting.verify(certificate);
    assert.equal(looks, before);
  });

  it('rejects with the same error object', () => {
    const trusting = pool(other);
    const certificate = sentWith(ofRoot);
    const errors = new Set<unknown>();
    for (let at = 0; at < 2; at++) {
      assert.throws(
        () => trusting.verify(certificate),
        (error) => errors.add(error).size === 1,
      );
    }
  });

  it('lists each authority once for the listener', () => {
    assert.deepEqual(authoritiesOf([pool(root, other), pool(other, middle)]), [root.cert, other.cert, middle.cert]);
    assert.deepEqual(authoritiesOf([]), []);
  });
});

it('a client cannot make the search long', () => {
  const key = make({ name: 'same', authority: true });
  const maze = Array.from({ length: limits.chainCertificatesMax }, () =>
    make({ name: 'same', authority: true, issuer: key, keyOf: key }),
  );
  const certificate = sentWith(leaf({ issuer: key }), ...maze);
  let checks = 0;
  for (let at: X509Certificate | undefined = certificate; at; at = at.issuerCertificate) {
    const verify = at.verify.bind(at);
    Object.defineProperty(at, 'verify', {
      value: (publicKey: Parameters<typeof verify>[0]) => {
        checks += 1;
        return verify(publicKey);
      },
    });
  }
  assert.match(distrust(pool(root), certificate), /signed by no authority/);
  assert.equal(checks, limits.chainSignatureChecksMax);
});
