import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { type Answered, problemOfAnswer } from './describe-answer.ts';

const answered = (status: number, body: string | object, contentType?: string): Answered => ({
  ...{ status, contentType },
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});
const failure = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'no', code: 507 };
const onServer = (text: string): string =>
  `an error on the server ("${text}") has prevented the request from succeeding`;
const noMore = (status: number): string =>
  `the server responded with the status code ${status} but did not return more information`;
const long = 'x'.repeat(100_000);
const cut = 'x'.repeat(limits.webhookErrorLengthMax);

describe('an error is told in the words of client-go', () => {
  const rows: readonly (readonly [answer: Answered, message: string, code?: number])[] = [
    [answered(400, 'x'), 'the server rejected our request for an unknown reason'],
    [answered(401, 'x'), 'the server has asked for the client to provide credentials'],
    [answered(402, 'x'), noMore(402)],
    [answered(403, ' who are you \n'), 'who are you'],
    [answered(403, ''), ''],
    [answered(404, 'x'), 'the server could not find the requested resource'],
    [answered(405, 'x'), 'the server does not allow this method on the requested resource'],
    [answered(406, ''), 'the server was unable to respond with a content type that the client supports'],
    [
      answered(406, '{}', 'application/json'),
      'the server was unable to respond with a content type that the client supports',
    ],
    [answered(406, 'only xml'), 'only xml'],
    [answered(409, 'x'), 'the server reported a conflict'],
    [answered(415, 'no xml'), 'no xml'],
    [answered(415, '{}', 'application/json'), 'unknown'],
    [answered(418, 'x'), noMore(418)],
    [answered(422, 'x'), 'the server rejected our request due to an error in our request'],
    [answered(429, 'x'), 'the server has received too many requests and has asked us to try again later'],
    [answered(500, 'oops!\n'), onServer('oops!')],
    [answered(500, 'oops!', 'Text/HTML; charset=utf-8'), onServer('oops!')],
    [answered(500, 'oops!', 'application/octet-stream'), onServer('unknown')],
    [answered(500, ''), onServer('')],
    [answered(502, 'a "proxy"'), onServer('a \\"proxy\\"')],
    [answered(503, 'x'), 'the server is currently unable to handle the request'],
    [
      answered(504, 'x'),
      'the server was unable to return a response in the time allotted, but may still be processing the request',
    ],
    [answered(599, 'x'), onServer('x')],
    [answered(207, 'x'), noMore(207)],
    // A Status says more, whatever the type of the content.
    [answered(500, failure), 'no', 507],
    [answered(403, failure, 'text/plain'), 'no', 507],
    [answered(404, { ...failure, apiVersion: undefined, code: undefined }, 'application/json'), 'no', 0],
    [answered(409, { ...failure, message: undefined }), '', 507],
    [answered(409, { ...failure, status: 'Success' }), 'the server reported a conflict'],
    [answered(409, { ...failure, kind: 'Pod' }), 'the server reported a conflict'],
    [answered(409, { ...failure, apiVersion: 'a/v1' }), 'the server reported a conflict'],
    [answered(409, { ...failure, message: 1 }), 'the server reported a conflict'],
    [answered(409, 'null'), 'the server reported a conflict'],
    // Nothing controls the terminal of who reads it, or is longer than a message may be.
    [answered(403, 'a\u001b[31m\r\nb\u0085'), 'a [31m b'],
    [answered(500, { ...failure, message: 'a\u0000b\nc' }), 'a b c', 507],
    [answered(500, 'a\u001b\u009b\n\tb'), onServer('a\\u001b\\x9b\\n\\tb')],
    [answered(403, long), cut],
    [answered(500, { ...failure, message: long }), cut, 507],
    [answered(500, long), onServer(cut)],
  ];
  for (const [answer, message, code = answer.status] of rows) {
    const { status, body, contentType = 'no type' } = answer;
    it(`${status}, ${contentType}: ${JSON.stringify(body.toString().slice(0, 60))}`, () => {
      assert.deepEqual(problemOfAnswer(answer), { message, code });
    });
  }
});

describe('a success', () => {
  for (const status of [200, 201, 206]) {
    it(`${status} can be read`, () => assert.equal(problemOfAnswer(answered(status, failure)), undefined));
    for (const [contentType, told] of [
      [undefined, 'application/json'],
      ['text/plain', 'text/plain'],
    ] as const) {
      it(`${status} cannot without a body, ${contentType}`, () => {
        const message = `0-length response with status code: ${status} and content type: ${told}`;
        assert.deepEqual(problemOfAnswer(answered(status, '', contentType)), { message, code: undefined });
      });
    }
  }
});
