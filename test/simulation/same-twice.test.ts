import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutgoingRequest, OutgoingResponse } from '../../src/outbound/network.ts';
import type { ClientRequest } from '../../src/outbound/transport.ts';
import type { ApiServerConfig } from '../../src/server/wiring/config.ts';
import { createApiServer } from '../../src/server/wiring/create-api-server.ts';
import { memoryConfiguration } from '../support/server-configuration.ts';
import {
  admin,
  askingConfig,
  askingFiles,
  get,
  respond,
  type SimulatedWorld,
  simulatedWorld,
  textOf,
  write,
} from './simulated-world.ts';

/** A whole server, from its start to its end, in a world that is not the machine's. */

const core = '/api/v1';
const configMaps = `${core}/namespaces/default/configmaps`;
const named = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

/** Too much for the event loop to do in one go. */
const much = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`key-${at}`, `${at}`]));

const requests: readonly ClientRequest[] = [
  get('/readyz'),
  get(`${core}/namespaces`),
  get('/apis/rbac.authorization.orch.io/v1/clusterroles'),
  write('POST', configMaps, { metadata: { generateName: 'made-' }, data: { a: '1' } }),
  write('POST', configMaps, named('one')),
  write('POST', configMaps, named('one')),
  write('PUT', `${configMaps}/one`, { ...named('one'), data: { b: '2' } }),
  write(
    'PATCH',
    `${configMaps}/two?fieldManager=m`,
    { ...named('two'), data: { c: '3' } },
    'application/apply-patch+yaml',
  ),
  get(`${configMaps}?limit=2`),
  { ...get(configMaps), headers: { accept: 'application/json;as=Table;g=meta.orch.io;v=v1' } },
  { method: 'DELETE', target: `${configMaps}/one` },
  get(`${configMaps}/one`),
  get('/apis'),
  write('POST', configMaps, { metadata: { generateName: 'large-' }, data: much }),
  { ...get(configMaps), headers: { accept: 'application/yaml' } },
  { ...get(configMaps), headers: { accept: 'application/json;as=Table;g=meta.orch.io;v=v1' } },
];

/** All that a server of this world answers, with the time going on between requests. */
async function answersIn(
  { clock, environment }: SimulatedWorld,
  config: ApiServerConfig,
  asked: readonly ClientRequest[],
): Promise<readonly string[]> {
  const server = await createApiServer(config, environment);
  try {
    await server.start();
    const transport = server.transportAs(admin);
    const answers: string[] = [];
    for (const request of asked) {
      clock.advance(1_500);
      const response = await transport.send(request);
      answers.push(`${request.method} ${request.target} ${response.status} ${await textOf(response)}`);
    }
    return answers;
  } finally {
    await server.stop();
    await server.done;
    assert.equal(clock.pending, 0, 'timers are left');
  }
}

/** One by one: they are long, and only what differs is to be shown. */
function assertSame(answers: readonly string[], expected: readonly string[]): void {
  assert.equal(answers.length, expected.length);
  for (const [at, answer] of answers.entries()) {
    const other = expected[at] ?? '';
    const differs = [...answer].findIndex((character, index) => character !== other[index]);
    const about = (text: string): string => text.slice(Math.max(0, differs - 100), differs + 100);
    assert.ok(answer === other, `answer ${at}: ${about(answer)}\nand before: ${about(other)}`);
  }
}

const codesOf = (answers: readonly string[]): readonly number[] =>
  answers.map((answer) => Number(/ (\d{3}) /.exec(answer)?.[1]));

test('a server with a seed answers the same, byte for byte, each time', async () => {
  const answersOf = (seed: number) => answersIn(simulatedWorld(seed, {}), memoryConfiguration, requests);
  const [first, second, other] = [await answersOf(1), await answersOf(1), await answersOf(2)];
  assertSame(second, first);
  assert.deepEqual(codesOf(first), [200, 200, 200, 201, 201, 409, 200, 201, 200, 200, 200, 404, 200, 201, 200, 200]);
  // By the clock of the world, on whatever thread it was made.
  const { metadata } = JSON.parse(first[13]?.replace(/^.*? 201 /, '') ?? '');
  assert.equal(metadata.creationTimestamp, '2026-01-01T00:00:21Z');
  const [, age] = /"large-[a-z0-9]{5}",3000,"(\w+)"/.exec(first[15] ?? '') ?? [];
  assert.equal(age, '3s');
  for (const at of [0, 3, 13]) assert.equal(other[at] === first[at], at === 0, `answer ${at}`);
});

const authentication = '/apis/authentication.orch.io/v1/tokenreviews';
const authorization = '/apis/authorization.orch.io/v1/subjectaccessreviews';
const questions: readonly ClientRequest[] = [
  write('POST', authentication, { spec: { token: 'good' } }),
  write('POST', authentication, { spec: { token: 'bad' } }),
  write('POST', authorization, { spec: { user: 'jane', resourceAttributes: { verb: 'get', resource: 'pods' } } }),
  write('POST', authorization, { spec: { user: 'joe', resourceAttributes: { verb: 'get', resource: 'pods' } } }),
];

test('and so does one that asks others: the network is that of its world', async () => {
  const asked: string[] = [];
  const answer = ({ server, target, body }: OutgoingRequest): OutgoingResponse => {
    asked.push(`${server.hostname}${target}`);
    const { apiVersion, kind, spec } = JSON.parse(String(body));
    const status =
      kind === 'TokenReview'
        ? { authenticated: spec.token === 'good', user: { username: 'jane' }, audiences: ['api'] }
        : { allowed: spec.user === 'jane' };
    return respond({ apiVersion, kind, status });
  };
  const answersOf = () => answersIn(simulatedWorld(1, { contents: askingFiles, answer }), askingConfig, questions);
  const [first, second] = [await answersOf(), await answersOf()];
  assertSame(second, first);
  const said = first.map((text) => JSON.parse(text.slice(text.indexOf('{'))).status);
  assert.deepEqual(
    said.map(({ authenticated, allowed }) => authenticated ?? allowed ?? false),
    [true, false, true, false],
  );
  const hosts = ['tokens', 'tokens', 'access', 'access'].map((path) => `webhook.example/${path}`);
  assert.deepEqual(asked, [...hosts, ...hosts]);
});

/** What many ask at once: who is answered when, and with what. */
async function answersAtOnce({ clock, environment }: SimulatedWorld): Promise<readonly string[]> {
  const server = await createApiServer(memoryConfiguration, environment);
  try {
    await server.start();
    const transport = server.transportAs(admin);
    const answers: string[] = [];
    const stop = new AbortController();
    const watched = Promise.withResolvers<void>();
    const { body } = await transport.send({ ...get(`${configMaps}?watch=true`), signal: stop.signal });
    const watching = (async () => {
      for await (const chunk of body) {
        answers.push(`watch ${Buffer.from(chunk)}`);
        if (answers.join().includes('made-last-')) watched.resolve();
      }
    })().catch(() => {});
    const ask = async (request: ClientRequest): Promise<void> => {
      answers.push(await textOf(await transport.send(request)));
    };
    const names = Array.from({ length: 20 }, (_, at) => `made-${at}-`);
    const create = (generateName: string) => write('POST', configMaps, { metadata: { generateName }, data: much });
    await Promise.all(names.map((name) => ask(create(name))));
    const yaml = { ...get(configMaps), headers: { accept: 'application/yaml' } };
    await Promise.all([yaml, get(`${configMaps}?pretty=true`), get(configMaps), yaml, create('made-last-')].map(ask));
    await watched.promise;
    stop.abort();
    await watching;
    return answers;
  } finally {
    await server.stop();
    assert.equal(clock.pending, 0, 'timers are left');
  }
}

test('and so does one with much to do at once, in slices and on its other thread', async () => {
  const [first, second] = [
    await answersAtOnce(simulatedWorld(1, { busy: true })),
    await answersAtOnce(simulatedWorld(1, { busy: true })),
  ];
  assertSame(second, first);
  assert.ok(first.length > 26, 'answers and changes');
});
