import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { systemClock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import { StatusError } from '../../meta/status-error.ts';
import { always, list, opt, string, struct } from '../../schema/schema.ts';
import { encodeEnvelope, openEnvelope } from './envelope.ts';
import { encodeProtobufList } from './list.ts';
import { watchFrame } from './watch-frame.ts';

const thing = struct('test.v1.Thing', 'A thing.', {
  apiVersion: opt(0, string(), 'Version.'),
  kind: opt(0, string(), 'Kind.'),
  name: opt(1, string(), 'Name.'),
});
const meta = struct('test.v1.Meta', 'Of a list.', { resourceVersion: opt(2, string(), 'Version.') });
const things = struct('test.v1.ThingList', 'Things.', {
  apiVersion: opt(0, string(), 'Version.'),
  kind: opt(0, string(), 'Kind.'),
  metadata: always(1, meta, 'Of the list.'),
  items: opt(2, list(thing), 'Things.'),
});

const magic = '6b387300';
/** TypeMeta of a `T` in version `v1`. */
const type = '0a070a027631120154';
const tail = '1a002200';

test('an object in its envelope', () => {
  const bytes = encodeEnvelope(thing, { apiVersion: 'v1', kind: 'T', name: 'x' });
  assert.equal(bytes.toString('hex'), `${magic}${type}12030a0178${tail}`);
  const { apiVersion, kind, raw } = openEnvelope(bytes);
  assert.deepEqual([apiVersion, kind, raw.toString('hex')], ['v1', 'T', '0a0178']);
});

test('envelopes may omit fields and have additional ones', () => {
  const open = (text: string): unknown => {
    const { apiVersion, kind, raw } = openEnvelope(Buffer.from(text, 'hex'));
    return [apiVersion, kind, raw.toString('hex')];
  };
  assert.deepEqual(open(`${magic}12030a0178`), ['', '', '0a0178']);
  assert.deepEqual(open(`${magic}12030a0178${type}`), ['v1', 'T', '0a0178'], 'in any order');
  assert.deepEqual(open(`${magic}${type}22017a2a017a3001`), ['v1', 'T', ''], 'content types and new fields');
});

const refused: readonly (readonly [why: string, bytes: string, message: RegExp])[] = [
  ['nothing', '', /must begin with the bytes 6b 38 73 00/],
  ['a part of the beginning', '6b3873', /must begin with/],
  ['nothing after the beginning', magic, /empty body/],
  ['JSON', Buffer.from('{"kind":"T"}').toString('hex'), /must begin with/],
  ['another version of the envelope', '6b38730112030a0178', /must begin with/],
  ['a cut off envelope', `${magic}12050a`, /cut off/],
  ['a cut off type', `${magic}0a030a0576`, /cut off/],
  ['a number in the place of the type', `${magic}0801`, /wire type 0/],
  ['a number in the place of the object', `${magic}1001`, /wire type 0/],
  ['a number in the place of the content encoding', `${magic}1801`, /wire type 0/],
  ['a number in the place of the content type', `${magic}2001`, /wire type 0/],
  ['a number in the place of the kind', `${magic}0a021001`, /wire type 0/],
  ['content that is encoded once more', `${magic}12030a01781a04677a6970`, /encoded once more/],
];
for (const [why, bytes, message] of refused) {
  test(`refused: ${why}`, () => {
    assert.throws(
      () => openEnvelope(Buffer.from(bytes, 'hex')),
      (error) => error instanceof StatusError && error.code === 400 && message.test(error.message),
    );
  });
}

const encoded = async (names: readonly string[], signal = new AbortController().signal): Promise<Buffer> =>
  Buffer.concat(
    await Promise.all([
      ...(await encodeProtobufList({
        listSchema: things,
        itemSchema: thing,
        head: { apiVersion: 'v1', kind: 'T', metadata: { resourceVersion: '7' } },
        items: names,
        object: (name) => ({ name }),
        signal,
        slice: new TimeSlice(systemClock),
      })),
    ]),
  );

test('a list is one message, made of its items', async () => {
  const head = '0a03120137';
  assert.equal((await encoded([])).toString('hex'), `${magic}${type}1205${head}${tail}`);
  const items = '12030a017812030a0179';
  assert.equal((await encoded(['x', 'y'])).toString('hex'), `${magic}${type}120f${head}${items}${tail}`);
});

test('a long list is the same whether it is kept or encoded again', async () => {
  const name = 'x'.repeat(100_000);
  const names = Array.from({ length: Math.ceil(limits.protobufListKeptBytes / name.length) + 1 }, () => name);
  const whole = encodeEnvelope(things, {
    apiVersion: 'v1',
    kind: 'T',
    metadata: { resourceVersion: '7' },
    items: names.map((each) => ({ name: each })),
  });
  assert.ok((await encoded(names)).equals(whole));
  const aborted = AbortSignal.abort(new Error('gone'));
  await assert.rejects(encoded(names, aborted), /gone/);
});

test('a watch event has a length prefix and no envelope of its own', () => {
  assert.equal(watchFrame('ADDED', Buffer.from('6b38', 'hex')).toString('hex'), '0000000d0a05414444454412040a026b38');
});
