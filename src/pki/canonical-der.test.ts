import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { requireDer } from './canonical-der.ts';
import { primitive } from './certificate-request-fixture.ts';
import { octetString, sequence, utf8String } from './der.ts';

const limits = { valuesMax: 5, depthMax: 3 };

/** A sequence in a sequence and so on, that many in all. */
const nested = (count: number): Buffer => (count === 1 ? sequence() : sequence(nested(count - 1)));
const values = (count: number): Buffer => sequence(...Array.from({ length: count - 1 }, () => utf8String('')));

const rows: readonly (readonly [what: string, bytes: Buffer, problem?: RegExp])[] = [
  ['one value', utf8String('é')],
  ['nothing', Buffer.alloc(0), /no data/],
  ['two values', Buffer.concat([utf8String('a'), utf8String('b')]), /trailing data/],
  ['as many values as there may be', values(5)],
  ['one more', values(6), /too many values/],
  ['as deep as it may be', nested(3)],
  ['one deeper', nested(4), /nested too deeply/],
  ['nothing is read within octets', octetString(nested(4))],
  ['a length in more bytes than needed', Buffer.from([0x0c, 0x81, 1, 0x61]), /non-minimal length/],
  ['a length in as many bytes as needed', octetString(Buffer.alloc(128))],
  ['a tag of more than one byte', Buffer.from([0x1f, 1, 0]), /a tag is too long/],
  ['a primitive sequence', Buffer.from([0x10, 0]), /wrong form/],
  ['text in parts', Buffer.from([0x2c, 0]), /wrong form/],
  ['an object identifier', primitive(0x06, [0x2a, 0x86, 0x48])],
  ['whose part begins with zeros', primitive(0x06, [0x2a, 0x80, 0x48]), /bad content/],
  ['with zeros within a part', primitive(0x06, [0x2a, 0x86, 0x80, 0x48])],
  ['whose last part does not end', primitive(0x06, [0x2a, 0x86]), /bad content/],
  ['that is empty', primitive(0x06, []), /bad content/],
  ['an integer', primitive(0x02, [0, 0x80])],
  ['with zeros before it', primitive(0x02, [0, 0x7f]), /bad content/],
  ['with ones before it', primitive(0x02, [0xff, 0x80]), /bad content/],
  ['without digits', primitive(0x02, []), /bad content/],
  ['bits', primitive(0x03, [4, 0xf0])],
  ['with unused ones that are set', primitive(0x03, [4, 0xf8]), /bad content/],
  ['with unused ones of none', primitive(0x03, [1]), /bad content/],
  ['with eight unused ones', primitive(0x03, [8, 0]), /bad content/],
  ['true', primitive(0x01, [0xff])],
  ['true as 1', primitive(0x01, [1]), /bad content/],
  ['printable text', primitive(0x13, Buffer.from('*.a&b'))],
  ['with a character that it may not have', primitive(0x13, Buffer.from('a@b')), /bad content/],
  ['text that is no UTF-8', primitive(0x0c, [0xff]), /bad content/],
  ['half a wide character', primitive(0x1e, [0]), /bad content/],
  ['a character beyond the basic plane', primitive(0x1c, [0, 1, 0, 0]), /bad content/],
];

describe('one value in DER', () => {
  for (const [what, bytes, problem] of rows) {
    it(`${what}: ${problem ? 'refused' : 'taken'}`, () => {
      if (problem) assert.throws(() => requireDer(bytes, limits), problem);
      else requireDer(bytes, limits);
    });
  }
});
