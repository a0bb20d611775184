import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { kinds } from '../../kinds/kinds.ts';
import { withoutObjects } from '../../registry/registry-fixture.ts';
import { parseRequestInfo } from '../../request/request-info.ts';
import { seatOf } from './operation.ts';

const resources = withoutObjects(kinds(orch));
const pods = '/api/v1/namespaces/n/pods';
const reviews = '/apis/authorization.orch.io/v1';

/** The kind of seat that requests need. */
const rows: readonly (readonly [method: string, target: string, seat: string])[] = [
  ['GET', `${pods}/a`, 'readOnly'],
  ['HEAD', `${pods}/a`, 'readOnly'],
  ['GET', pods, 'readOnly'],
  ['GET', '/api/v1/pods', 'readOnly'],
  ['GET', `${pods}/a/status`, 'readOnly'],
  ['GET', `${pods}?watch=1&resourceVersion=5`, 'none'],
  ['GET', `${pods}?watch=1`, 'readOnly'],
  ['GET', `${pods}?watch=1&resourceVersion=0`, 'readOnly'],
  ['GET', `${pods}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`, 'none'],
  ['GET', `${pods}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=5`, 'readOnly'],
  ['POST', pods, 'mutating'],
  ['POST', `${pods}?dryRun=All`, 'mutating'],
  ['PUT', `${pods}/a`, 'mutating'],
  ['PUT', `${pods}/a/status`, 'mutating'],
  ['PATCH', `${pods}/a`, 'mutating'],
  ['DELETE', `${pods}/a`, 'mutating'],
  ['DELETE', pods, 'mutating'],
  ['POST', `${pods}/a/eviction`, 'mutating'],
  ['POST', `${pods}/a/binding`, 'mutating'],
  ['POST', '/api/v1/namespaces/n/serviceaccounts/a/token', 'review'],
  ['POST', '/apis/authentication.orch.io/v1/tokenreviews', 'review'],
  ['POST', '/apis/authentication.orch.io/v1/selfsubjectreviews', 'review'],
  ['POST', `${reviews}/subjectaccessreviews`, 'review'],
  ['POST', `${reviews}/selfsubjectaccessreviews`, 'review'],
  ['POST', `${reviews}/selfsubjectrulesreviews`, 'review'],
  ['POST', `${reviews}/namespaces/n/localsubjectaccessreviews`, 'review'],
];

for (const [method, target, seat] of rows) {
  test(`${method} ${target} needs a seat of: ${seat}`, () => {
    const info = parseRequestInfo(method, target);
    assert.ok(info.type === 'resource');
    const served = resources.find(info.group, info.version, info.resource);
    assert.ok(served);
    assert.equal(seatOf(info, served, orch) ?? 'none', seat);
  });
}

test('kinds that are answered instead of stored need no mutating seats', () => {
  const answered = [...resources.all()].filter(({ kind }) => kind.answer !== undefined);
  assert.ok(answered.length >= 6);
  for (const served of answered) {
    const { group, version, resource, scope } = served.kind;
    const root = `/apis/${group}/${version}${scope === 'Namespaced' ? '/namespaces/n' : ''}`;
    const info = parseRequestInfo('POST', `${root}/${resource}`);
    assert.ok(info.type === 'resource');
    assert.equal(seatOf(info, served, orch), 'review', resource);
  }
});
