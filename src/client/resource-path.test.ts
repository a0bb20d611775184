import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resourcePath } from './resource-path.ts';

const rows: readonly (readonly [path: string, location: Parameters<typeof resourcePath>[0]])[] = [
  ['/api/v1/nodes', { resource: 'nodes' }],
  ['/api/v1/pods', { resource: 'pods', namespace: '' }],
  ['/api/v1/namespaces/a/pods', { resource: 'pods', namespace: 'a' }],
  ['/api/v1/namespaces/a', { resource: 'namespaces', name: 'a' }],
  ['/api/v1/namespaces/a%2Fb/pods/c%3Fd', { resource: 'pods', namespace: 'a/b', name: 'c?d' }],
  ['/api/v1/namespaces/a/pods/b/status', { resource: 'pods', namespace: 'a', name: 'b', subresource: 'status' }],
  ['/apis/rbac.x.io/v1/roles', { apiVersion: 'rbac.x.io/v1', resource: 'roles' }],
  ['/api/v1/secrets?fieldSelector=type%3Da%26b', { resource: 'secrets', fieldSelector: 'type=a&b' }],
];

for (const [path, location] of rows) test(path, () => assert.equal(resourcePath(location), path));
