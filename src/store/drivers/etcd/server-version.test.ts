import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answersProgressRequests } from './server-version.ts';

test('progress requests are for versions that answer them in order', () => {
  for (const version of ['3.4.31', '3.4.45', '3.5.13', '3.6.0', '3.7.1-rc.0', '4.0.0']) {
    assert.ok(answersProgressRequests(version), version);
  }
  for (const version of ['3.3.99', '3.4.0', '3.4.23', '3.4.30', '3.5.0', '3.5.12', '2.3.8', '', 'unknown']) {
    assert.ok(!answersProgressRequests(version), version);
  }
});
