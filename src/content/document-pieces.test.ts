import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decodeOpenapi } from '../codec/protobuf/openapi/decode-fixture.ts';
import { orch } from '../dialect/orch.ts';
import { kinds } from '../kinds/kinds.ts';
import { Entries } from '../registry/documents/json-pieces.ts';
import { openapiV2 } from '../registry/documents/openapi.ts';
import { withoutObjects } from '../registry/registry-fixture.ts';
import { writeDocument, writeShown } from './document-forms.ts';
import { documentPieces } from './document-pieces.ts';

const message = 'openapi v2';
const resources = [...withoutObjects(kinds(orch)).all()];
const documentV2 = (): Entries => openapiV2(resources, { dialect: orch, cbor: false, issuer: true });

/** The bytes of all pieces; `elsewhere` says which of the parts are encoded there. */
async function written(document: Entries, form: string, elsewhere: (part: number) => boolean): Promise<Buffer> {
  let parts = 0;
  const encode = (value: unknown): Buffer | Promise<Buffer> => {
    const bytes = writeShown(value, message, form);
    return elsewhere(parts++) ? Promise.resolve(bytes) : bytes;
  };
  const slice = { over: false, next: async () => {} };
  const pieces: Buffer[] = [];
  for (const piece of documentPieces(document, form, { slice, encode }))
    pieces.push(Buffer.from((await piece) as string));
  return Buffer.concat(pieces);
}

const whole = async (form: string): Promise<Buffer> => {
  const json = await written(documentV2(), 'json', () => false);
  return writeDocument({ json, message }, form);
};

describe('a document in pieces', () => {
  const encodings = [
    ['here', () => false],
    ['elsewhere', () => true],
    ['here and elsewhere', (part: number) => part % 3 === 1],
  ] as const;
  for (const [where, elsewhere] of encodings) {
    for (const form of ['json', 'pretty', 'yaml']) {
      test(`has the bytes of the whole one: ${form}, encoded ${where}`, async () => {
        const made = await written(documentV2(), form, elsewhere);
        assert.ok(made.equals(await whole(form)), `${made.length} bytes`);
      });
    }

    test(`is read as the whole one: protobuf, encoded ${where}`, async () => {
      const made = await written(documentV2(), 'protobuf', elsewhere);
      assert.deepEqual(decodeOpenapi(made, 2), decodeOpenapi(await whole('protobuf'), 2));
    });
  }

  test('waits whenever its time is over, also where there is nothing to be sent', async () => {
    let waits = 0;
    const slice = { over: true, next: async () => void waits++ };
    const entries = new Entries([undefined, ['a', new Entries([undefined, undefined, ['b', 1]])], undefined]);
    let text = '';
    for (const piece of documentPieces(entries, 'json', {
      slice,
      encode: () => assert.fail('JSON is written as it is'),
    })) {
      text += Buffer.from((await piece) as string).toString();
    }
    assert.equal(text, '{"a":{"b":1}}');
    assert.ok(waits >= 4, `${waits} waits`);
  });
});
