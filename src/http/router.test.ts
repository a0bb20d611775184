import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StatusError } from '../meta/status-error.ts';
import type { Exchange } from './exchange.ts';
import { PathRouter } from './router.ts';
import { readTarget } from './target.ts';

describe('PathRouter', () => {
  const served: string[] = [];
  const as = (name: string) => (_: Exchange, path: string) => {
    served.push(`${name} ${path}`);
  };
  const router = new PathRouter()
    .exact('/version', ['GET'], as('version'))
    .prefix('/livez/', ['GET'], as('check'))
    .prefix('/livez/deep/', ['GET', 'POST'], as('deep'));
  const route = (method: string, path: string): string => {
    try {
      router.find(method, path)({} as Exchange, path);
      return served.pop() ?? '';
    } catch (error) {
      return error instanceof StatusError ? `${error.code} ${error.headers['allow'] ?? ''}`.trim() : String(error);
    }
  };
  const rows: readonly (readonly [method: string, path: string, outcome: string])[] = [
    ['GET', '/version', 'version /version'],
    ['HEAD', '/version', 'version /version'],
    ['POST', '/version', '405 GET, HEAD'],
    ['GET', '/version/', '404'],
    ['GET', '/livez/etcd', 'check /livez/etcd'],
    ['POST', '/livez/deep/a', 'deep /livez/deep/a'],
    ['DELETE', '/livez/deep/a', '405 GET, HEAD, POST'],
    ['GET', '/livez', '404'],
    ['GET', '/__proto__', '404'],
  ];
  for (const [method, path, outcome] of rows)
    it(`${method} ${path}: ${outcome}`, () => assert.equal(route(method, path), outcome));
});

describe('readTarget', () => {
  const rows: readonly (readonly [method: string, sent: string, target: string, code?: number])[] = [
    ['GET', '/a?b=c', '/a?b=c'],
    ['GET', 'https://host:1/a?b', '/a?b'],
    ['GET', 'HTTP://host', '/'],
    ['GET', 'https://host?b', '/?b'],
    ['GET', '*', '/', 400],
    ['GET', '', '/', 400],
    ['GET', 'a/b', '/', 400],
    ['CONNECT', 'host:1', '/', 405],
    ['GET', `/${'a'.repeat(20_000)}`, '/', 414],
  ];
  for (const [method, sent, target, code] of rows) {
    it(`${method} ${sent.slice(0, 30)}`, () => {
      const read = readTarget(method, sent);
      assert.equal(read.target, target);
      assert.equal(read.refused?.code, code);
    });
  }
});
