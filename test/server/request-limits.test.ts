import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { decodeMessage } from '../../src/codec/protobuf/decode.ts';
import { openEnvelope } from '../../src/codec/protobuf/envelope.ts';
import { parseYaml } from '../../src/codec/yaml.ts';
import { status as statusSchema } from '../../src/kinds/meta/status.ts';
import { as, Folder, grant, rule, user } from '../support/authorization.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { http2Answer, openHttp2, openTls } from '../support/raw-client.ts';
import { TokenWebhook } from '../support/token-webhook.ts';

/** The flags that bound requests, on a server with one place of each kind, and a service of tokens that is slow to answer. */
const held = new AsyncDisposableStack();
const answers: (() => void)[] = [];
let server: OrchProcess;
before(async () => {
  const webhook = held.use(await TokenWebhook.start());
  webhook.review = () =>
    new Promise((resolve) => {
      answers.push(() => resolve({ authenticated: false }));
    });
  const folder = held.use(new Folder());
  server = held.use(
    await OrchProcess.start({
      flags: [
        folder.tokens({ jane: [], kate: [], nobody: [] }),
        `--authentication-token-webhook-config-file=${webhook.connectionFile({})}`,
        '--max-mutating-requests-inflight=1',
        '--max-requests-inflight=1',
        '--request-timeout=6s',
        '--min-request-timeout=1',
        '--goaway-chance=0.02',
        '--http2-max-streams-per-connection=7',
        '--tls-min-version=VersionTLS13',
      ],
    }),
  );
  const rules = [rule('create', 'tokenreviews', { group: 'authentication.orch.io' }), rule('*', 'configmaps')];
  await grant(server, 'reviewers', rules, [user('jane'), user('kate')]);
});
after(() => held.disposeAsync());

const tokenReviews = '/apis/authentication.orch.io/v1/tokenreviews';
const tokenReview = { apiVersion: 'authentication.orch.io/v1', kind: 'TokenReview', spec: { token: 'unknown' } };
const configMaps = '/api/v1/namespaces/default/configmaps';

let tokens = 0;

/** Has the one place for reviews taken until the function is done. */
async function whileReviewing(during: () => Promise<void>): Promise<void> {
  const review = { ...tokenReview, spec: { token: `token-${tokens++}` } };
  const reviewed = server.post(tokenReviews, review, { as: as('jane') });
  await until(() => answers.length === 1, 'the service of tokens is not asked');
  try {
    await during();
  } finally {
    answers.pop()?.();
    assert.equal((await reviewed).status, 201);
  }
}

const readStatus: Readonly<Record<string, (bytes: Buffer) => unknown>> = {
  'application/json': (bytes) => JSON.parse(bytes.toString()),
  'application/yaml': (bytes) => parseYaml(bytes).value,
  'application/vnd.orch.protobuf': (bytes) => decodeMessage(statusSchema, openEnvelope(bytes).raw),
};

test('who waits too long for a place is told so, with when to come back, in every format over both protocols', async () => {
  await whileReviewing(async () => {
    const session = await openHttp2(server, { cert: undefined, key: undefined });
    const rows = Object.keys(readStatus).flatMap((accept) => [
      { accept, answer: server.post(tokenReviews, tokenReview, { as: as('kate'), headers: { accept } }) },
      { accept, answer: overHttp2(session, accept) },
    ]);
    for (const { accept, answer } of rows) {
      const { status, headers, bytes } = await answer;
      assert.deepEqual([status, headers['retry-after'], headers['content-type']], [429, '1', accept]);
      assert.partialDeepStrictEqual(readStatus[accept]?.(bytes), {
        status: 'Failure',
        reason: 'TooManyRequests',
        message: 'Too many requests, please try again later.',
        details: { retryAfterSeconds: 1 },
        code: 429,
      });
    }
    session.destroy();
  });
});

async function overHttp2(session: Awaited<ReturnType<typeof openHttp2>>, accept: string) {
  const stream = session.request({
    ':method': 'POST',
    ':path': tokenReviews,
    authorization: `Bearer ${as('kate').token}`,
    'content-type': 'application/json',
    accept,
  });
  stream.end(JSON.stringify(tokenReview));
  const headers = await new Promise<Record<string, unknown>>((resolve, reject) => {
    stream.once('response', resolve).once('error', reject);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return { status: Number(headers[':status']), headers, bytes: Buffer.concat(chunks) };
}

test('a user without any role waits at the lowest level, and metrics show who was refused, by level', async () => {
  await whileReviewing(async () => {
    const review = { apiVersion: 'authentication.orch.io/v1', kind: 'SelfSubjectReview' };
    const path = '/apis/authentication.orch.io/v1/selfsubjectreviews';
    const answers = [as('nobody'), as('kate')].map((user) => server.post(path, review, { as: user }));
    for (const answer of answers) assert.equal((await answer).status, 429);
  });
  const { text } = await server.get('/metrics');
  for (const name of ['catch-all', 'global-default']) {
    const labels = `flow_schema="${name}",priority_level="${name}"`;
    assert.match(
      text,
      new RegExp(`^apiserver_flowcontrol_rejected_requests_total\\{${labels},reason="time-out"\\} `, 'm'),
    );
    assert.match(
      text,
      new RegExp(`^apiserver_flowcontrol_request_wait_duration_seconds_count\\{${labels},execute="false"`, 'm'),
    );
  }
  const ended = /^apiserver_request_terminations_total\{verb="POST",.*resource="selfsubjectreviews",.*code="429"\} 2$/m;
  assert.match(text, ended);
  for (const kind of ['readOnly', 'mutating', 'review']) {
    assert.match(text, new RegExp(`^apiserver_current_inflight_requests\\{request_kind="${kind}"\\} \\d+$`, 'm'));
    assert.match(text, new RegExp(`^apiserver_current_inqueue_requests\\{request_kind="${kind}"\\} \\d+$`, 'm'));
  }
});

test('reviews take no place from reads and writes, and masters need none', async () => {
  await whileReviewing(async () => {
    const made = await server.post(configMaps, { metadata: { name: 'a' } }, { as: as('kate') });
    assert.equal(made.status, 201, made.text);
    assert.equal((await server.get(`${configMaps}/a`, { as: as('kate') })).status, 200);
    const session = '/apis/authentication.orch.io/v1/selfsubjectreviews';
    const review = { apiVersion: 'authentication.orch.io/v1', kind: 'SelfSubjectReview' };
    assert.equal((await server.post(session, review)).status, 201, 'the administrator');
  });
});

test('--request-timeout ends what takes longer', async () => {
  const { status, text } = await server.post(tokenReviews, tokenReview, { as: as('jane') });
  answers.pop()?.();
  assert.equal(status, 504, text);
  assert.match(text, /did not complete within 6 s/);
  const ended = /^apiserver_request_terminations_total\{verb="POST",.*resource="tokenreviews",.*code="504"\} 1$/m;
  assert.match((await server.get('/metrics')).text, ended);
});

test('--min-request-timeout is when watches end that name no time', async () => {
  const watch = server.watch(`${configMaps}?watch=1&resourceVersion=0`);
  await until(() => watch.ended, 'the watch does not end');
  assert.equal(watch.complete, true);
});

describe('connections', () => {
  test('speak no TLS below --tls-min-version', async () => {
    await assert.rejects(openTls(server, { maxVersion: 'TLSv1.2' }));
  });

  test('take as many streams as --http2-max-streams-per-connection says', async () => {
    const session = await openHttp2(server);
    assert.equal(session.remoteSettings.maxConcurrentStreams, 7);
    session.destroy();
  });

  test('are asked to go now and then by --goaway-chance', async () => {
    let gone = false;
    for (let n = 0; !gone; n++) {
      assert.ok(n < 5_000, 'no connection was asked to go');
      const session = connectHttp2(server.url, server.credentials);
      session.on('error', () => {});
      session.on('goaway', () => {
        gone = true;
      });
      for (let each = 0; each < 200 && !session.closed && !gone; each++) {
        // One that crosses the farewell is refused, and could be sent again.
        const answer = await http2Answer(session, { ':path': '/version' }).catch(() => undefined);
        assert.ok(answer === undefined || answer.status === 200);
      }
      session.destroy();
    }
  });
});
