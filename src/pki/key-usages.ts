/** What the key of a certificate may be used for (RFC 5280 sections 4.2.1.3 and 4.2.1.12). */
export interface KeyUsages {
  /** Bits of the key usage extension. */
  readonly bits: readonly number[];
  /** Object identifiers of extended key usages. */
  readonly extended: readonly string[];
}

export const keyUsageBits = { digitalSignature: 0, keyAgreement: 4, keyCertSign: 5, crlSign: 6 } as const;
export const extendedKeyUsages = { serverAuth: '1.3.6.1.5.5.7.3.1', clientAuth: '1.3.6.1.5.5.7.3.2' } as const;

/** Bits by the names of `spec.usages` of a certificate signing request (spec section 2.7), as published. */
const bitsByName: ReadonlyMap<string, number> = new Map([
  ['signing', keyUsageBits.digitalSignature],
  ['digital signature', keyUsageBits.digitalSignature],
  ['content commitment', 1],
  ['key encipherment', 2],
  ['data encipherment', 3],
  ['key agreement', keyUsageBits.keyAgreement],
  ['cert sign', keyUsageBits.keyCertSign],
  ['crl sign', keyUsageBits.crlSign],
  ['encipher only', 7],
  ['decipher only', 8],
]);

/** Extended key usages by the same names, in the order in which certificates list them. */
const extendedByName: ReadonlyMap<string, string> = new Map([
  ['any', '2.5.29.37.0'],
  ['server auth', extendedKeyUsages.serverAuth],
  ['client auth', extendedKeyUsages.clientAuth],
  ['code signing', '1.3.6.1.5.5.7.3.3'],
  ['email protection', '1.3.6.1.5.5.7.3.4'],
  ['s/mime', '1.3.6.1.5.5.7.3.4'],
  ['ipsec end system', '1.3.6.1.5.5.7.3.5'],
  ['ipsec tunnel', '1.3.6.1.5.5.7.3.6'],
  ['ipsec user', '1.3.6.1.5.5.7.3.7'],
  ['timestamping', '1.3.6.1.5.5.7.3.8'],
  ['ocsp signing', '1.3.6.1.5.5.7.3.9'],
  ['microsoft sgc', '1.3.6.1.4.1.311.10.3.3'],
  ['netscape sgc', '2.16.840.1.113730.4.1'],
]);

/** All names of usages. */
export const usageNames: readonly string[] = [...bitsByName.keys(), ...extendedByName.keys()];

/**
 * The usages with these names. Throws an Error for an unknown name, and for combinations that RFC 5280 forbids or leaves
 * undefined in the certificate of an end entity: signing certificates, and `encipher only` or `decipher only` without
 * `key agreement`.
 */
export function keyUsagesOf(names: readonly string[]): KeyUsages {
  const unknown = names.filter((name) => !usageNames.includes(name));
  if (unknown.length > 0) throw new Error(`unrecognized usage values: ${JSON.stringify(unknown)}`);
  if (names.includes('cert sign')) throw new Error('only authorities may have the usage "cert sign"');
  for (const name of ['encipher only', 'decipher only']) {
    if (names.includes(name) && !names.includes('key agreement')) {
      throw new Error(`the usage "${name}" has no meaning without "key agreement"`);
    }
  }
  const chosen = new Set(names);
  return { bits: valuesOf(bitsByName, chosen), extended: valuesOf(extendedByName, chosen) };
}

const valuesOf = <T>(table: ReadonlyMap<string, T>, names: ReadonlySet<string>): readonly T[] => [
  ...new Set([...table].filter(([name]) => names.has(name)).map(([, value]) => value)),
];
