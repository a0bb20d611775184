import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { silentLogger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import { systemClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { ApiClient } from '../../client/api-client.ts';
import { KeptEvents } from '../../client/event-recorder-fixture.ts';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type Decision, followRequests } from './follow-requests.ts';
import { ScriptedWrites } from './scripted-writes-fixture.ts';

const apiVersion = 'certificates.orch.io/v1';
const path = `/apis/${apiVersion}/certificatesigningrequests`;
const request = (name: string, version = '1'): ApiObject => ({
  ...{ apiVersion, kind: 'CertificateSigningRequest' },
  metadata: { name, uid: `uid-${name}`, resourceVersion: version },
});
const status = (code: number, reason: string) => ({ kind: 'Status', apiVersion: 'v1', metadata: {}, code, reason });

/** A follower of the requests of such a server. */
function follow(decide: (request: ApiObject) => Decision, ...items: readonly ApiObject[]) {
  const server = new ScriptedWrites(items);
  const client = new ApiClient(server, 'controllers');
  const events = new KeptEvents();
  const following = followRequests(
    {
      ...{ name: 'test', client, reader: client, events, rootAuthority: '', dialect: orch },
      ...{ clock: systemClock, random: systemRandom, logger: silentLogger },
    },
    { wanted: ({ metadata }) => metadata.name !== 'unwanted', decide: async (each) => decide(each) },
  );
  return { server, events, following };
}

describe('certificate requests that a controller follows', () => {
  it('many that need no answer are decided in many turns of the event loop', async () => {
    const count = 30 * limits.certificateRequestsPerSlice;
    const items = Array.from({ length: count }, (_, index) => request(`r${index}`));
    let [decided, inThisTurn, mostInOneTurn] = [0, 0, 0];
    const { following } = follow(
      () => {
        decided++;
        if (inThisTurn++ === 0) {
          setImmediate(() => {
            inThisTurn = 0;
          });
        }
        mostInOneTurn = Math.max(mostInOneTurn, inThisTurn);
        return { type: 'nothing' };
      },
      ...items,
    );
    await until(() => decided === count, 'not all are decided');
    following.close();
    // Two slices may share a turn: before its timers, and after.
    assert.ok(mostInOneTurn <= 3 * limits.certificateRequestsPerSlice, `${mostInOneTurn} in one turn`);
  });

  for (const [what, code, reason, writes] of [
    ['a conflict is left to the watch', 409, 'Conflict', 1],
    ['one that is gone is left alone', 404, 'NotFound', 1],
    ['another failure is repeated', 500, 'InternalError', 2],
  ] as const) {
    it(`${what}; a warning is recorded of a write that succeeded alone`, async () => {
      const warning = { reason: 'Test', message: 'something' };
      const { server, events, following } = follow(
        (each) => ({ type: 'write', subresource: 'status', request: each, warning }),
        request('a'),
        request('unwanted'),
      );
      server.answerWrite(code, status(code, reason));
      if (writes === 2) server.answerWrite(200, {});
      const put = `PUT ${path}/a/status`;
      await until(
        () => server.writes.length === writes,
        () => `it writes: ${server.writes}`,
      );
      if (writes === 1) {
        assert.deepEqual(events.events, []);
        server.answerWrite(200, {});
        server.watch.event('MODIFIED', request('a', '2'));
      }
      await until(() => events.events.length === 1, 'the warning is recorded');
      assert.deepEqual(server.writes, [put, put]);
      assert.deepEqual(events.events[0]?.about, {
        ...{ apiVersion, kind: 'CertificateSigningRequest' },
        ...{ name: 'a', uid: 'uid-a' },
      });
      following.close();
    });
  }
});
