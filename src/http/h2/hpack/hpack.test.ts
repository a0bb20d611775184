import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import fc from 'fast-check';
import { OutputBuffer } from '../output-buffer.ts';
import { literalForms, rawField, rawIndex, rawInteger, rawTableSize, rawText } from '../raw-frames-fixture.ts';
import { HpackDecoder, HpackError } from './decoder.ts';
import { appendField } from './encoder.ts';
import { huffmanDecode, huffmanEncode, huffmanLength } from './huffman.ts';
import { staticTable } from './static-table.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

type Fields = readonly (readonly [name: string, value: string])[];

function decoded(decoder: HpackDecoder, block: Buffer): Fields {
  const fields: [string, string][] = [];
  decoder.decode(block, ({ name, value }) => void fields.push([name, value]));
  return fields;
}

describe('the examples of RFC 7541 appendix C', () => {
  const integers: readonly (readonly [value: number, prefixMask: number, bytes: string])[] = [
    [10, 0x1f, '0a'],
    [1337, 0x1f, '1f9a0a'],
    [42, 0xff, '2a'],
  ];
  for (const [value, prefixMask, bytes] of integers) {
    it(`the integer ${value}`, () => assert.deepEqual(rawInteger(value, { prefixMask, first: 0 }), hex(bytes)));
  }

  const single: readonly (readonly [section: string, bytes: string, name: string, value: string, count: number])[] = [
    ['C.2.1', '400a637573746f6d2d6b65790d637573746f6d2d686561646572', 'custom-key', 'custom-header', 1],
    ['C.2.2', '040c2f73616d706c652f70617468', ':path', '/sample/path', 0],
    ['C.2.3', '100870617373776f726406736563726574', 'password', 'secret', 0],
    ['C.2.4', '82', ':method', 'GET', 0],
  ];
  for (const [section, bytes, name, value, count] of single) {
    it(`${section}: ${name}`, () => {
      const decoder = new HpackDecoder(4096);
      assert.deepEqual(decoded(decoder, hex(bytes)), [[name, value]]);
      assert.equal(decoder.tableSize > 0 ? 1 : 0, count);
    });
  }

  const host = [':authority', 'www.example.com'] as const;
  const begin = [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/'],
  ] as const;
  const requests: readonly Fields[] = [
    [...begin, host],
    [...begin, host, ['cache-control', 'no-cache']],
    [[':method', 'GET'], [':scheme', 'https'], [':path', '/index.html'], host, ['custom-key', 'custom-value']],
  ];
  const cookie = 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1';
  const location = ['location', 'https://www.example.com'] as const;
  const control = ['cache-control', 'private'] as const;
  const date = (second: number) => ['date', `Mon, 21 Oct 2013 20:13:2${second} GMT`] as const;
  const responses: readonly Fields[] = [
    [[':status', '302'], control, date(1), location],
    [[':status', '307'], control, date(1), location],
    [[':status', '200'], control, date(2), location, ['content-encoding', 'gzip'], ['set-cookie', cookie]],
  ];
  const series: readonly {
    readonly section: string;
    readonly tableBytes: number;
    readonly blocks: readonly string[];
    readonly fields: readonly Fields[];
    readonly sizes: readonly number[];
  }[] = [
    {
      section: 'C.3: requests without Huffman coding',
      tableBytes: 4096,
      blocks: [
        '828684410f7777772e6578616d706c652e636f6d',
        '828684be58086e6f2d6361636865',
        '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565',
      ],
      fields: requests,
      sizes: [57, 110, 164],
    },
    {
      section: 'C.4: requests with Huffman coding',
      tableBytes: 4096,
      blocks: [
        '828684418cf1e3c2e5f23a6ba0ab90f4ff',
        '828684be5886a8eb10649cbf',
        '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf',
      ],
      fields: requests,
      sizes: [57, 110, 164],
    },
    {
      section: 'C.5: responses without Huffman coding, and a table that is full',
      tableBytes: 256,
      blocks: [
        '4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d54' +
          '6e1768747470733a2f2f7777772e6578616d706c652e636f6d',
        '4803333037c1c0bf',
        '88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d' +
          '4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31',
      ],
      fields: responses,
      sizes: [222, 222, 215],
    },
    {
      section: 'C.6: responses with Huffman coding, and a table that is full',
      tableBytes: 256,
      blocks: [
        '488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3',
        '4883640effc1c0bf',
        '88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b' +
          '3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
      ],
      fields: responses,
      sizes: [222, 222, 215],
    },
  ];
  for (const { section, tableBytes, blocks, fields, sizes } of series) {
    it(section, () => {
      const decoder = new HpackDecoder(tableBytes);
      for (const [at, block] of blocks.entries()) {
        assert.deepEqual(decoded(decoder, hex(block)), fields[at]);
        assert.equal(decoder.tableSize, sizes[at]);
      }
    });
  }
});

describe('the Huffman code', () => {
  const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array).toString('latin1'));
  const encode = (text: string): Buffer => {
    const target = Buffer.alloc(huffmanLength(text));
    assert.equal(huffmanEncode(text, target, 0), target.length);
    return target;
  };
  const decode = (code: Buffer): string | undefined => {
    const target = Buffer.alloc(Math.ceil(code.length * 1.6));
    const length = huffmanDecode(code, 0, code.length, target);
    return length < 0 ? undefined : target.toString('latin1', 0, length);
  };

  it('round-trips any bytes', () => {
    fc.assert(fc.property(bytes, (text) => assert.equal(decode(encode(text)), text)));
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('latin1');
    assert.equal(decode(encode(all)), all);
  });

  it('has one encoding for each text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20 }), (array) => {
        const code = Buffer.from(array);
        const text = decode(code);
        assert.ok(text === undefined || encode(text).equals(code));
      }),
      { numRuns: 2_000 },
    );
  });

  const refused: readonly (readonly [what: string, code: string])[] = [
    ['the whole of EOS', 'ffffffff'],
    ['eight bits of padding', '1fff'],
    ['padding that is not ones', '18'],
    ['a symbol that is cut off', 'fffe'],
  ];
  for (const [what, code] of refused) it(`has no ${what}`, () => assert.equal(decode(hex(code)), undefined));
});

describe('a header block that is refused', () => {
  const a100 = 'a'.repeat(100);
  const rows: readonly (readonly [what: string, block: Buffer])[] = [
    ['index 0', hex('80')],
    ['an index behind the tables', rawIndex(62)],
    ['an index far behind the tables', rawIndex(100_000)],
    ['a name at an index that is not there', Buffer.concat([hex('7f00'), rawText('x', false)])],
    ['an integer that never ends', hex('ffffffffffffffffffffff')],
    ['an integer beyond all lengths', hex('ff8080808008')],
    ['an integer with a tail of zeros', hex('ff80808080808080808080808000')],
    ['an integer that is cut off', hex('ff')],
    ['a field that is cut off behind its head', hex('40')],
    ['a text that is cut off', hex('400a61')],
    ['a text longer than the block', hex('40ffffff7f')],
    ['a text that is not in the code', hex('4081ff0161')],
    ['a table larger than was allowed', rawTableSize(4097)],
    ['a size of the table behind a field', Buffer.concat([hex('82'), rawTableSize(0)])],
    ['a field that went from a table that was made smaller', Buffer.concat([rawTableSize(0), rawIndex(62)])],
  ];
  for (const [what, block] of rows) {
    it(what, () => {
      const decoder = new HpackDecoder(4096);
      decoder.decode(rawField('x', a100, { form: 'indexed' }), () => {});
      const again = what.startsWith('an index behind') ? rawIndex(63) : block;
      assert.throws(() => decoder.decode(again, () => {}), HpackError);
    });
  }
});

test('a block may start with several table size updates', () => {
  const decoder = new HpackDecoder(4096);
  decoded(decoder, rawField('x', 'y', { form: 'indexed' }));
  const block = Buffer.concat([
    rawTableSize(0),
    rawTableSize(4096),
    rawField('a', 'b', { form: 'indexed' }),
    rawIndex(62),
  ]);
  assert.deepEqual(decoded(decoder, block), [
    ['a', 'b'],
    ['a', 'b'],
  ]);
  assert.equal(decoder.tableSize, 34);
});

test('a field larger than the table empties it', () => {
  const decoder = new HpackDecoder(64);
  decoded(decoder, rawField('a', 'b', { form: 'indexed' }));
  assert.equal(decoder.tableSize, 34);
  decoded(decoder, rawField('x', 'y'.repeat(32), { form: 'indexed' }));
  assert.equal(decoder.tableSize, 0);
});

/** Arbitrary representations of fields, while both sides keep the same table. */
test('any fields in any representations are decoded, despite evictions', () => {
  const name = fc.constantFrom('a', 'x-one', 'x-remote-user', 'impersonate-user', 'authorization', ':path', 'zz');
  const value = fc.string({ maxLength: 60 });
  const field = fc.record({
    name,
    value: value.map((text) =>
      Buffer.from(text)
        .toString('latin1')
        .replaceAll(/[^\x21-\x7e\x80-\xff]/g, '.'),
    ),
    form: fc.constantFrom(...(Object.keys(literalForms) as (keyof typeof literalForms)[])),
    huffman: fc.boolean(),
    byIndex: fc.boolean(),
  });
  const block = fc.record({
    size: fc.option(fc.integer({ min: 0, max: 300 })),
    fields: fc.array(field, { maxLength: 8 }),
  });
  fc.assert(
    fc.property(fc.array(block, { maxLength: 12 }), (blocks) => {
      const decoder = new HpackDecoder(300);
      let table: [string, string][] = [];
      let sizeMax = 300;
      const sizeOf = () => table.reduce((sum, [n, v]) => sum + n.length + v.length + 32, 0);
      const evict = () => {
        while (sizeOf() > sizeMax) table.pop();
      };
      for (const { size, fields } of blocks) {
        const bytes: Buffer[] = [];
        if (size !== null) {
          sizeMax = size;
          evict();
          bytes.push(rawTableSize(size));
        }
        for (const each of fields) {
          const all: Fields = [...staticTable, ...table];
          const whole = all.findIndex(([n, v]) => n === each.name && v === each.value);
          const named = all.findIndex(([n]) => n === each.name);
          if (each.byIndex && whole >= 0) {
            bytes.push(rawIndex(whole + 1));
            continue;
          }
          const nameIndex = each.byIndex ? named + 1 : 0;
          bytes.push(rawField(each.name, each.value, { form: each.form, huffman: each.huffman, nameIndex }));
          if (each.form === 'indexed') {
            table = [[each.name, each.value], ...table];
            evict();
          }
        }
        assert.deepEqual(
          decoded(decoder, Buffer.concat(bytes)),
          fields.map((each) => [each.name, each.value]),
        );
        assert.equal(decoder.tableSize, sizeOf());
      }
    }),
  );
});

test('arbitrary bytes are decoded or rejected', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 4 }), (blocks) => {
      const decoder = new HpackDecoder(200);
      for (const block of blocks) {
        try {
          decoder.decode(Buffer.from(block), ({ name, value }) =>
            assert.ok(typeof name === 'string' && value.length < 70),
          );
        } catch (error) {
          assert.ok(error instanceof HpackError);
          return;
        }
        assert.ok(decoder.tableSize <= 200);
      }
    }),
    { numRuns: 3_000 },
  );
});

function encodedField(name: string, value: string): Buffer {
  const buffer = new OutputBuffer();
  try {
    appendField(buffer, name, value);
  } finally {
    assert.equal(buffer.length === 0, invalidInFields.test(value), 'nothing is added but whole fields');
  }
  return buffer.take().bytes;
}

const invalidInFields = /[\n\r\0\u20ac]/;

test('values that never recur are encoded, as are those that do', () => {
  const decoder = new HpackDecoder(0);
  for (let n = 0; n < 2_000; n += 1) {
    const value = n % 10 === 0 ? 'comes-back' : `value-${n}`;
    assert.deepEqual(decoded(decoder, encodedField('x-always-new', value)), [['x-always-new', value]]);
  }
  assert.throws(() => encodedField('x-always-new', 'a\nb'), TypeError);
});

test('encoded fields round-trip', () => {
  const decoder = new HpackDecoder(0);
  const rows: Fields = [
    [':status', '200'],
    [':status', '201'],
    ['content-type', 'application/json'],
    ['content-length', '1207'],
    ['x-unknown', ''],
    ['warning', `299 - "${'x'.repeat(1_000)}"`],
    ['x-latin1', 'gr\u00f6\u00dfer'],
  ];
  for (const [name, value] of rows) {
    for (const _ of ['made', 'kept']) assert.deepEqual(decoded(decoder, encodedField(name, value)), [[name, value]]);
  }
  const id = '33c1f524-1a15-4a6a-8eeb-50bb8fcb2ba4';
  for (const value of ['', 'a', id, 'a'.repeat(126), 'a'.repeat(127), 'a'.repeat(300), '\xff']) {
    assert.deepEqual(decoded(new HpackDecoder(4096), encodedField('audit-id', value)), [['audit-id', value]]);
  }
  for (const value of ['a\nb', 'a\rb', 'a\0', '\u20ac']) {
    for (const name of ['x', 'audit-id']) assert.throws(() => encodedField(name, value), TypeError);
  }
});
