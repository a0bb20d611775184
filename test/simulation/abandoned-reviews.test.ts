import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until, within } from '../../src/base/waits-fixture.ts';
import type { OutgoingRequest } from '../../src/outbound/network.ts';
import type { ClientRequest } from '../../src/outbound/transport.ts';
import type { UserInfo } from '../../src/request/user-info.ts';
import { createApiServer } from '../../src/server/wiring/create-api-server.ts';
import { admin, askingConfig, askingFiles, get, silence, simulatedWorld, write } from './simulated-world.ts';

/** What is asked of webhooks for a request that nobody waits for any more. */

const token = '/apis/authentication.orch.io/v1/tokenreviews';
const access = '/apis/authorization.orch.io/v1';
const attributes = { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } };
const jane: UserInfo = { username: 'jane', uid: '', groups: [], extra: {} };

/** Requests for which a webhook is asked: of the administrator, who may ask anything, and of somebody who must be asked about. */
const requests: Readonly<Record<string, { readonly user: UserInfo; readonly request: ClientRequest }>> = {
  'a token review': { user: admin, request: write('POST', token, { spec: { token: 't' } }) },
  'an access review': {
    user: admin,
    request: write('POST', `${access}/subjectaccessreviews`, { spec: { user: 'jane', ...attributes } }),
  },
  'a local access review': {
    user: admin,
    request: write('POST', `${access}/namespaces/default/localsubjectaccessreviews`, {
      spec: { user: 'jane', ...attributes },
    }),
  },
  'an access review about a group': {
    user: admin,
    request: write('POST', `${access}/subjectaccessreviews`, { spec: { groups: ['dev'], ...attributes } }),
  },
  'any request of who must be asked about': { user: jane, request: get('/api/v1/pods') },
  'a request as somebody else': {
    user: jane,
    request: { ...get('/api/v1/pods'), headers: { 'impersonate-user': 'joe' } },
  },
};

/** How a request ends that nobody waits for any more. */
const ends: Readonly<Record<string, { readonly target: (target: string) => string; readonly end: End }>> = {
  'its client is gone': { target: (target) => target, end: ({ client }) => client.abort(new Error('gone')) },
  'its deadline has passed': {
    target: (target) => target,
    end: ({ advance }) => advance(limits.requestMsMax),
  },
  'its own timeout has passed': {
    target: (target) => `${target}?timeout=3s`,
    end: ({ advance }) => advance(3_000),
  },
};
type End = (context: { readonly client: AbortController; readonly advance: (ms: number) => void }) => void;

describe('a webhook is not asked any longer', () => {
  for (const [what, { user, request }] of Object.entries(requests)) {
    for (const [how, { target, end }] of Object.entries(ends)) {
      it(`for ${what}: ${how}`, async () => {
        const asked = Promise.withResolvers<OutgoingRequest>();
        const answer = (question: OutgoingRequest): Promise<never> => {
          asked.resolve(question);
          return silence(question);
        };
        const { clock, environment } = simulatedWorld(1, { contents: askingFiles, answer });
        const server = await createApiServer(askingConfig, environment);
        try {
          await server.start();
          const client = new AbortController();
          const sent = { ...request, target: target(request.target), signal: client.signal };
          const answered = server
            .transportAs(user)
            .send(sent)
            .then(
              ({ status }) => status,
              (error: Error) => error.message,
            );
          const { signal } = await within(asked.promise, 'no webhook is asked');
          assert.equal(signal?.aborted, false);
          end({ client, advance: (ms) => clock.advance(ms) });
          assert.equal(await within(answered, 'there is no answer'), how === 'its client is gone' ? 'gone' : 504);
          await until(() => signal?.aborted === true, 'the webhook is still asked');
        } finally {
          await server.stop();
        }
        assert.equal(clock.pending, 0, 'timers are left');
      });
    }
  }
});
