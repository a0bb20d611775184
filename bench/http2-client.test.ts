import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PreparedRequest } from './http2-client.ts';

const request = { method: 'GET', path: '/one' } as const;
/** A header block of `:method: GET`, `:scheme: https`, `:path: /one`, `:authority: 127.0.0.1`, without indexing. */
const block = [
  ['3a6d6574686f64', '474554'],
  ['3a736368656d65', '6874747073'],
  ['3a70617468', '2f6f6e65'],
  ['3a617574686f72697479', '3132372e302e302e31'],
]
  .map(([name = '', value = '']) => `00${lengthOf(name)}${name}${lengthOf(value)}${value}`)
  .join('');

function lengthOf(hex: string): string {
  return (hex.length / 2).toString(16).padStart(2, '0');
}

const headersOf = (frames: Buffer): string => {
  assert.equal(frames.readUIntBE(0, 3), frames.length - 9);
  assert.equal(frames.readUInt32BE(5), 7);
  return frames.toString('hex', 9);
};

test('a request without repeated headers is the same each time', () => {
  const prepared = new PreparedRequest(request);
  assert.equal(prepared.repeated, '');
  assert.equal(headersOf(prepared.frames(7)), block);
  assert.equal(headersOf(prepared.firstFrames(7)), block);
});

test('repeated headers go into the table of the connection, and later only by their place in it', () => {
  const prepared = new PreparedRequest({ ...request, repeated: { a: '1', b: '2' } });
  assert.equal(headersOf(prepared.firstFrames(7)), `${block}40016101314001620132`);
  // What was added last is 62, what was added before 63 (RFC 7541 section 2.3.3).
  assert.equal(headersOf(prepared.frames(7)), `${block}bfbe`);
});

test('sets of repeated headers are told from each other', () => {
  const repeatedBy = (value: string): string =>
    new PreparedRequest({ ...request, repeated: { authorization: value } }).repeated;
  assert.equal(repeatedBy('x'), repeatedBy('x'));
  assert.notEqual(repeatedBy('x'), repeatedBy('y'));
});
