import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readTokenReview, tokenReview } from './token-review.ts';

const apiVersion = 'authentication.orch.io/v1';
const read = (text: string) => readTokenReview(Buffer.from(text), apiVersion);
const unknown = { authenticated: false, error: '', audiences: [] };
const nobody = { uid: '', groups: [], extra: {} };

describe('a TokenReview request', () => {
  it('contains audiences if there are any', () => {
    const kind = 'TokenReview';
    assert.deepEqual(JSON.parse(tokenReview(apiVersion, 't', [])), { kind, apiVersion, spec: { token: 't' } });
    assert.deepEqual(JSON.parse(tokenReview(apiVersion, 't', ['a', 'b'])), {
      kind,
      apiVersion,
      spec: { token: 't', audiences: ['a', 'b'] },
    });
  });
});

describe('a TokenReview response', () => {
  for (const [text, expected] of [
    ['{}', unknown],
    ['{"status":null}', unknown],
    ['{"kind":"","apiVersion":null,"status":{"authenticated":null,"user":{}}}', unknown],
    ['{"kind":"TokenReview","apiVersion":"authentication.orch.io/v1","status":{}}', unknown],
    ['{"status":{"error":"expired","audiences":["a"]}}', { ...unknown, error: 'expired', audiences: ['a'] }],
    [
      '{"status":{"authenticated":true,"user":{"username":"jane"}}}',
      { authenticated: true, user: { ...nobody, username: 'jane' }, audiences: [] },
    ],
    [
      '{"spec":{"token":7},"more":1,"status":{"authenticated":true,"more":1,"audiences":["a"],"user":' +
        '{"username":"jane","uid":"7","groups":["g","h"],"extra":{"k":["v","w"],"__proto__":["x"]},"more":1}}}',
      {
        authenticated: true,
        user: {
          username: 'jane',
          uid: '7',
          groups: ['g', 'h'],
          extra: Object.fromEntries([
            ['k', ['v', 'w']],
            ['__proto__', ['x']],
          ]),
        },
        audiences: ['a'],
      },
    ],
  ] as const) {
    it(text.slice(0, 80), () => assert.deepEqual(read(text), expected));
  }

  const user = (fields: string): string => `{"status":{"authenticated":true,"user":{${fields}}}}`;
  for (const [text, message] of [
    ['', /no object in JSON/],
    ['secret', /no object in JSON/],
    ['"secret"', /no object in JSON/],
    ['[]', /no object in JSON/],
    ['{"status":{"authenticated":false,"authenticated":true}}', /has a field twice/],
    ['{"kind":"Status","status":"Failure"}', /the answer's kind is not TokenReview$/],
    ['{"apiVersion":"authentication.orch.io/v1beta1"}', /apiVersion is not authentication.orch.io\/v1$/],
    ['{"kind":1}', /"kind" has the wrong type$/],
    ['{"status":[]}', /"status" has the wrong type$/],
    ['{"status":{"authenticated":"true"}}', /"authenticated" has the wrong type$/],
    ['{"status":{"authenticated":1}}', /"authenticated" has the wrong type$/],
    ['{"status":{"error":["secret"]}}', /"error" has the wrong type$/],
    ['{"status":{"audiences":"secret"}}', /"audiences" has the wrong type$/],
    ['{"status":{"audiences":[null]}}', /"audiences" has the wrong type$/],
    [user(''), /a user without a name$/],
    ['{"status":{"authenticated":true}}', /a user without a name$/],
    [user('"username":["secret"]'), /"username" has the wrong type$/],
    [user('"username":"a","groups":"secret"'), /"groups" has the wrong type$/],
    [user('"username":"a","uid":7'), /"uid" has the wrong type$/],
    [user('"username":"a","extra":{"k":"secret"}'), /"k" has the wrong type$/],
    [user('"username":"a","extra":[]'), /"extra" has the wrong type$/],
  ] as const) {
    it(`refused: ${text.slice(0, 80)}`, () =>
      assert.throws(
        () => read(text),
        (error) => error instanceof Error && message.test(error.message) && !error.message.includes('secret'),
      ));
  }
});
