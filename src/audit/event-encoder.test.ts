import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TextBytes } from '../base/text-bytes.ts';
import { kubernetes } from '../dialect/kubernetes.ts';
import { orch } from '../dialect/orch.ts';
import type { AuditEvent } from './event.ts';
import { type EncodedEvent, EventEncoder } from './event-encoder.ts';
import { auditEvent } from './event-fixture.ts';
import { legacyLine } from './legacy-line.ts';
import { MicroTimes } from './micro-times.ts';

/** What the event is, in parts, and as it writes itself if it has no objects. */
function textOf(encoded: EncodedEvent): string {
  const text = Buffer.concat(encoded.parts).toString();
  if (encoded.hasObjects) return text;
  const bytes = new TextBytes();
  encoded.writeTo(bytes);
  assert.equal(bytes.copy().toString(), `${text}\n`);
  return text;
}

const full: AuditEvent = {
  level: 'RequestResponse',
  auditId: 'id',
  stage: 'ResponseComplete',
  requestUri: '/api/v1/namespaces/n/pods?a="b"',
  verb: 'create',
  user: { username: 'jane', uid: 'u', groups: ['a', 'b'], extra: { k: ['v', 'w'] } },
  impersonatedUser: { username: 'bob', uid: '', groups: [], extra: {} },
  sourceIps: ['192.0.2.1', '::1'],
  userAgent: 'kubectl/1 "x"\u2028',
  objectRef: {
    resource: 'pods',
    namespace: 'n',
    name: 'p',
    uid: 'pu',
    apiGroup: 'g',
    apiVersion: 'v1',
    resourceVersion: '7',
    subresource: 'status',
  },
  responseStatus: { code: 409, status: 'Failure', message: 'no\nno', reason: 'Conflict', details: { name: 'p' } },
  requestObject: Buffer.from('{"é":1}'),
  responseObject: Buffer.from('{"b":[2]}'),
  requestReceivedMs: Date.UTC(2026, 0, 2, 3, 4, 5) + 6.0079,
  stageMs: Date.UTC(2026, 0, 2, 3, 4, 6),
  decision: { allowed: false, reason: 'no "rule"' },
  annotations: new Map([
    ['c/x', '3'],
    ['b/x', '2'],
    ['a/x', '1'],
  ]),
};

describe('an encoded audit event', () => {
  it('has all fields in the published order, in one line', () => {
    assert.equal(
      textOf(new EventEncoder(kubernetes).encode(full)),
      '{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"id","stage":"ResponseComplete",' +
        '"requestURI":"/api/v1/namespaces/n/pods?a=\\"b\\"","verb":"create",' +
        '"user":{"username":"jane","uid":"u","groups":["a","b"],"extra":{"k":["v","w"]}},' +
        '"impersonatedUser":{"username":"bob"},"sourceIPs":["192.0.2.1","::1"],"userAgent":"kubectl/1 \\"x\\"\u2028",' +
        '"objectRef":{"resource":"pods","namespace":"n","name":"p","uid":"pu","apiGroup":"g","apiVersion":"v1",' +
        '"resourceVersion":"7","subresource":"status"},' +
        '"responseStatus":{"metadata":{},"status":"Failure","message":"no\\nno","reason":"Conflict","details":{"name":"p"},"code":409},' +
        '"requestObject":{"é":1},"responseObject":{"b":[2]},' +
        '"requestReceivedTimestamp":"2026-01-02T03:04:05.006007Z","stageTimestamp":"2026-01-02T03:04:06.000000Z",' +
        '"annotations":{"a/x":"1","authorization.k8s.io/decision":"forbid","authorization.k8s.io/reason":"no \\"rule\\"","b/x":"2","c/x":"3"}}',
    );
  });

  it('is JSON whatever its texts hold, and the same if it is encoded again', () => {
    const encoder = new EventEncoder(orch);
    for (const text of ['plain', 'a"b', 'a\\b', 'a\nb', '\u007f', 'é\u2028😀', '\ud800', '']) {
      for (const allowed of [true, false]) {
        const reference = { ...(full.objectRef ?? assert.fail()), name: text, uid: '' };
        const event = { ...full, auditId: text, requestUri: `/${text}`, verb: text, objectRef: reference };
        const encoded = textOf(
          encoder.encode({ ...event, decision: { allowed, reason: text }, annotations: undefined }),
        );
        const { auditID, requestURI, verb, objectRef, annotations } = JSON.parse(encoded);
        const shown = text.toWellFormed();
        assert.deepEqual(
          [auditID, requestURI, verb, objectRef.name ?? '', objectRef.uid].map((each) => each?.toWellFormed()),
          [shown, `/${shown}`, shown, shown, undefined],
        );
        assert.equal(annotations['authorization.orch.io/decision'], allowed ? 'allow' : 'forbid');
        assert.equal(annotations['authorization.orch.io/reason'].toWellFormed(), shown);
      }
    }
  });

  it('leaves out what is empty', () => {
    assert.equal(
      textOf(new EventEncoder(orch).encode(auditEvent({ requestReceivedMs: 0, stageMs: 0 }))),
      '{"kind":"Event","apiVersion":"audit.orch.io/v1","level":"Metadata","auditID":"id","stage":"RequestReceived",' +
        '"requestURI":"/version","verb":"get","user":{},' +
        '"requestReceivedTimestamp":"1970-01-01T00:00:00.000000Z","stageTimestamp":"1970-01-01T00:00:00.000000Z"}',
    );
  });

  it('knows its length in bytes', () => {
    const encoded = new EventEncoder(orch).encode(full);
    assert.equal(encoded.bytes, Buffer.byteLength(textOf(encoded)));
  });

  it('can be truncated', () => {
    const short = textOf(new EventEncoder(orch).truncated(full));
    const { requestObject, responseObject, annotations } = JSON.parse(short);
    assert.deepEqual([requestObject, responseObject], [undefined, undefined]);
    assert.deepEqual(annotations, {
      'a/x': '1',
      'audit.orch.io/truncated': 'true',
      'authorization.orch.io/decision': 'forbid',
      'authorization.orch.io/reason': 'no "rule"',
      'b/x': '2',
      'c/x': '3',
    });
  });

  it('tells users and addresses apart that it has encoded before', () => {
    const encoder = new EventEncoder(orch);
    const users = ['a', 'b', 'a'].map((username) => ({ username, uid: '', groups: [], extra: {} }));
    const seen = [...users, ...users].map((user) =>
      JSON.parse(textOf(encoder.encode(auditEvent({ user, sourceIps: [user.username], userAgent: user.username })))),
    );
    assert.deepEqual(
      seen.map(({ user, sourceIPs, userAgent }) => [user.username, sourceIPs, userAgent]),
      ['a', 'b', 'a', 'a', 'b', 'a'].map((name) => [name, [name], name]),
    );
  });
});

describe('times with microseconds', () => {
  const times = new MicroTimes();
  for (const [ms, text] of [
    [0.999999, '1970-01-01T00:00:00.000999Z'],
    [999.9999, '1970-01-01T00:00:00.999999Z'],
    [1000, '1970-01-01T00:00:01.000000Z'],
    [999, '1970-01-01T00:00:00.999000Z'],
    [Date.UTC(2026, 11, 31, 23, 59, 59) + 0.5, '2026-12-31T23:59:59.000500Z'],
  ] as const) {
    it(text, () => {
      const bytes = new TextBytes();
      times.add(ms, bytes);
      assert.deepEqual([times.text(ms), `${bytes.copy().toString()}Z`], [text, text]);
    });
  }
});

describe('the legacy line', () => {
  const time = () => 'T';
  it('has a part of the fields', () => {
    assert.equal(
      legacyLine(full, time),
      'T AUDIT: id="id" stage="ResponseComplete" ip="192.0.2.1" method="create" user="jane" groups="\\"a\\",\\"b\\"" ' +
        'as="bob" asgroups="" user-agent="kubectl/1 \\"x\\"\u2028" namespace="n" uri="/api/v1/namespaces/n/pods?a=\\"b\\"" response="409"',
    );
  });

  it('says what is not there', () => {
    assert.equal(
      legacyLine(auditEvent({}), time),
      'T AUDIT: id="id" stage="RequestReceived" ip="<unknown>" method="get" user="<none>" groups="<none>" as="<self>" ' +
        'asgroups="<lookup>" user-agent="" namespace="<none>" uri="/version" response="<deferred>"',
    );
  });
});
