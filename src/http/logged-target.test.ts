import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loggedTarget } from './logged-target.ts';

describe('the target of a request in a log', () => {
  for (const [target, logged] of [
    ['/version', '/version'],
    ['/', '/'],
    ['/apis/g/v1/pods', '/apis/g/v1/pods'],
    ['/SECRET', '***'],
    ['/SECRET/api?watch=1', '***?watch=1'],
    ['SECRET', '***'],
    ['http:/api/SECRET', '***'],
    ['x/api/SECRET', '***'],
    ['/api?watch=1&labelSelector=a%3Db', '/api?watch=1&labelSelector=a%3Db'],
    ['/api?access_token=SECRET', '/api?***'],
    ['/api?SECRET', '/api?***'],
    ['/api?limit=1&token=SECRET&&x', '/api?limit=1&***&***&***'],
    ['/api?Watch=SECRET', '/api?***'],
    ['/api?=SECRET', '/api?***'],
    ['/api?%77atch=SECRET', '/api?***'],
    ['/api?b?limit=SECRET', '/api?***'],
    ['/api?limit;SECRET', '/api?***'],
  ] as const) {
    it(`shows ${target} as ${logged}`, () => assert.equal(loggedTarget(target), logged));
  }
});
