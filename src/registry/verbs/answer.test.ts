import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../../base/time/clock.ts';
import { within } from '../../base/waits-fixture.ts';
import { orch } from '../../dialect/orch.ts';
import { nameColumn } from '../../kinds/columns.ts';
import type { Kind } from '../../kinds/kind.ts';
import { kindSchema } from '../../kinds/meta/kind-schema.ts';
import { invalid } from '../../meta/field-error.ts';
import { badRequest, notFound } from '../../meta/status-error.ts';
import type { Admission, AdmissionAttributes } from '../../request/admission.ts';
import { int64, opt, ptr, req, string } from '../../schema/schema.ts';
import { groupResources, resourceList } from '../documents/discovery.ts';
import { openapiV3 } from '../documents/openapi.ts';
import { operations } from '../documents/operations.ts';
import { RegistryFixture, withoutObjects } from '../registry-fixture.ts';

const group = 'questions.example';
const schema = kindSchema('api.questions.v1.Question', 'Is answered.', {
  text: req(2, string(), 'What is asked.', { presence: 'always' }),
  times: ptr(3, int64({ maximum: 9 }), 'How often.', { default: 1 }),
  reply: opt(4, string(), 'The answer.'),
});

/** A kind that is answered and not stored. */
const question = (resource: string, scope: Kind['scope'], more: Partial<Kind> = {}): Kind => ({
  group,
  version: 'v1',
  kind: 'Question',
  listKind: 'QuestionList',
  resource,
  singular: 'question',
  shortNames: [],
  categories: [],
  scope,
  schema,
  nameFormat: 'pathSegment',
  selectableFields: [],
  columns: [nameColumn],
  strategy: {
    default: (object) => {
      if (object['text'] === 'silence') object['text'] = 'what?';
    },
    validateCreate: (object) => (object['text'] === 'rude' ? [invalid('text', object['text'], 'be polite')] : []),
    warnings: (object) => (object['times'] === 2 ? ['asked twice'] : []),
  },
  answer: (object, { user, warn }) => {
    if (object['text'] === 'nobody knows') throw badRequest('nobody does');
    warn('answered');
    return { ...object, reply: `${String(object['text']).repeat(Number(object['times']))} ${user.username}` };
  },
  subresources: [],
  createOnUpdate: false,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: false,
  ...more,
});

const made = [question('questions', 'Cluster'), question('localquestions', 'Namespaced')];
const path = `/apis/${group}/v1/questions`;
const localPath = `/apis/${group}/v1/namespaces/n/localquestions`;

/** Records the calls of admission in order; `refuse` is the step that rejects. */
function watching(refuse = ''): {
  readonly seen: (readonly [string, AdmissionAttributes])[];
  readonly admission: Admission;
} {
  const seen: (readonly [string, AdmissionAttributes])[] = [];
  const step = (name: string) => (attributes: AdmissionAttributes) => {
    seen.push([name, attributes]);
    if (name === refuse) throw badRequest(`${name} refuses`);
    if (name === 'mutate' && attributes.object?.['text'] === 'shout') attributes.object['text'] = 'SHOUT';
  };
  return { seen, admission: { mutate: step('mutate'), validate: step('validate') } };
}

const open = (options: Parameters<typeof RegistryFixture.open>[0] = {}): Promise<RegistryFixture> =>
  RegistryFixture.open({ kinds: made, clock: new ManualClock(Date.UTC(2026, 0, 1)), ...options });

describe('a kind that is answered', () => {
  it('is not waited for after its request has ended', async () => {
    const ended = new Error('the deadline has passed');
    const reached = Promise.withResolvers<void>();
    const answer = () => {
      reached.resolve();
      return new Promise<never>(() => {});
    };
    await using fixture = await open({ kinds: [question('questions', 'Cluster', { answer })] });
    const abort = new AbortController();
    const refused = assert.rejects(fixture.call('POST', path, { text: 'x' }, abort.signal), ended);
    await within(reached.promise, 'reached: never');
    abort.abort(ended);
    await refused;
  });

  it('is decoded, defaulted, changed by admission, validated and answered with 201', async () => {
    const { admission, seen } = watching();
    await using fixture = await open({ admission });
    const reply = await fixture.call('POST', path, { text: 'shout', times: 2, reply: 'mine' });
    assert.ok(reply.type === 'object');
    assert.equal(reply.status, 201);
    const { metadata, ...answered } = JSON.parse(reply.bytes.toString());
    assert.deepEqual(answered, {
      kind: 'Question',
      apiVersion: `${group}/v1`,
      text: 'SHOUT',
      times: 2,
      reply: 'SHOUTSHOUT admin',
    });
    assert.equal(metadata.creationTimestamp, null);
    assert.deepEqual(metadata.managedFields, [
      {
        manager: 'test',
        operation: 'Update',
        apiVersion: `${group}/v1`,
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:reply': {}, 'f:text': {}, 'f:times': {} },
      },
    ]);
    assert.deepEqual(fixture.warnings, ['asked twice', 'answered']);
    assert.deepEqual(
      seen.map(([step, { operation, name, kind, info, old, user }]) => [
        step,
        operation,
        name,
        kind.kind,
        info.resource,
        old,
        user.username,
      ]),
      ['mutate', 'validate'].map((step) => [step, 'create', '', 'Question', 'questions', undefined, 'admin']),
    );
  });

  it('has the defaults of its schema and its strategy', async () => {
    await using fixture = await open();
    assert.equal((await fixture.object('POST', path, { text: 'silence' }))['reply'], 'what? admin');
  });

  it('leaves nothing in the store', async () => {
    await using fixture = await open();
    const before = await fixture.store.head();
    await fixture.call('POST', path, { metadata: { name: 'a' }, text: 'x' });
    await fixture.call('POST', path, { metadata: { name: 'a' }, text: 'x' });
    assert.equal(await fixture.store.head(), before);
  });

  it('keeps the names that the client gave, and no fields of the server', async () => {
    await using fixture = await open();
    const sent = {
      name: 'Not a DNS name',
      uid: 'u',
      creationTimestamp: '2020-01-01T00:00:00Z',
      deletionTimestamp: '2020-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 3,
      selfLink: '/x',
      labels: { a: 'b' },
    };
    const { metadata } = await fixture.object('POST', path, { metadata: sent, text: 'x' });
    const { managedFields: _, ...rest } = metadata;
    assert.deepEqual(rest, { name: 'Not a DNS name', creationTimestamp: null, labels: { a: 'b' } });
  });

  it('is in the namespace of the path', async () => {
    await using fixture = await open();
    assert.equal((await fixture.object('POST', localPath, { text: 'x' })).metadata.namespace, 'n');
    const error = await fixture.refusal('POST', localPath, { metadata: { namespace: 'm' }, text: 'x' });
    assert.equal(error.code, 400);
    assert.match(error.message, /does not match the namespace sent on the request/);
    const clusterScoped = await fixture.object('POST', path, { metadata: { namespace: 'm' }, text: 'x' });
    assert.equal(clusterScoped.metadata.namespace, undefined);
  });

  it('gives the same answer in a dry run', async () => {
    const { admission, seen } = watching();
    await using fixture = await open({ admission });
    assert.equal((await fixture.object('POST', `${path}?dryRun=All`, { text: 'x' }))['reply'], 'x admin');
    assert.deepEqual(
      seen.map(([, { dryRun }]) => dryRun),
      [true, true],
    );
    assert.equal((await fixture.refusal('POST', `${path}?dryRun=Some`, { text: 'x' })).code, 422);
  });

  for (const [what, body, query, code, message] of [
    ['no body', undefined, '', 400, /a Question is expected/],
    ['another kind', { kind: 'Pod', apiVersion: 'v1' }, '', 400, /does not match the expected/],
    ['a wrong type', { text: 1 }, '', 400, /text: expected string, got number/],
    ['a broken rule of the schema', { text: 'x', times: 10 }, '', 422, /times: Invalid value: 10/],
    [
      'a broken rule of the strategy',
      { text: 'rude' },
      '',
      422,
      /Question.questions.example "" is invalid: text: .*polite/,
    ],
    ['what the answer refuses', { text: 'nobody knows' }, '', 400, /nobody does/],
    ['an unknown field', { text: 'x', more: 1 }, '?fieldValidation=Strict', 400, /unknown field "more"/],
  ] as const) {
    it(`is refused: ${what}`, async () => {
      await using fixture = await open();
      const error = await fixture.refusal('POST', `${path}${query}`, body);
      assert.equal(error.code, code);
      assert.match(error.message, message);
    });
  }

  it('warns of unknown fields', async () => {
    await using fixture = await open();
    await fixture.call('POST', path, { text: 'x', more: 1 });
    assert.deepEqual(fixture.warnings, ['unknown field "more"', 'answered']);
  });

  for (const [refused, asked] of [
    ['mutate', ['mutate']],
    ['validate', ['mutate', 'validate']],
  ] as const) {
    it(`is not answered if admission rejects in ${refused}`, async () => {
      const { admission, seen } = watching(refused);
      await using fixture = await open({ admission });
      assert.equal((await fixture.refusal('POST', path, { text: 'x' })).message, `${refused} refuses`);
      assert.deepEqual(
        seen.map(([step]) => step),
        asked,
      );
      assert.deepEqual(fixture.warnings, []);
    });
  }

  for (const [method, target, code] of [
    ['GET', path, 405],
    ['GET', `${path}?watch=1`, 405],
    ['DELETE', path, 405],
    ['GET', localPath, 405],
    ['GET', `${path}/x`, 404],
    ['PUT', `${path}/x`, 404],
    ['PATCH', `${path}/x`, 404],
    ['DELETE', `${path}/x`, 404],
    ['GET', `${path}/x/status`, 404],
    ['POST', `/apis/${group}/v1/localquestions`, 404],
  ] as const) {
    it(`has no other verb: ${method} ${target} is ${code}`, async () => {
      await using fixture = await open();
      const error = await fixture.refusal(method, target);
      assert.equal(error.code, code);
      if (code === 405) assert.equal(error.headers['allow'], 'POST');
    });
  }
});

describe('discovery and OpenAPI of a kind that is answered', () => {
  const served = [...withoutObjects(made).all()];

  it('discovery lists creation only, and no stored version', () => {
    const [document] = groupResources(served);
    const { resources } = resourceList(group, 'v1', document?.versions[0]?.resources ?? []) as { resources: unknown };
    const entry = { singularName: 'question', kind: 'Question', verbs: ['create'] };
    assert.deepEqual(resources, [
      { name: 'localquestions', namespaced: true, ...entry },
      { name: 'questions', namespaced: false, ...entry },
    ]);
  });

  it('OpenAPI has one operation each, and no lists', () => {
    assert.deepEqual(
      served.flatMap((each) => operations(each, orch)).map(({ method, path: at, id }) => [method, at, id]),
      [
        [
          'post',
          `/apis/${group}/v1/namespaces/{namespace}/localquestions`,
          'createQuestionsExampleV1NamespacedQuestion',
        ],
        ['post', path, 'createQuestionsExampleV1Question'],
      ],
    );
    const { components } = JSON.parse(
      [...openapiV3(served, { dialect: orch, cbor: false, issuer: true })].join(''),
    ) as {
      components: { schemas: Record<string, unknown> };
    };
    const named = Object.keys(components.schemas).filter((name) => name.includes('Question'));
    assert.deepEqual(named, ['io.orch.api.questions.v1.Question']);
  });

  it('reading its stored objects is an error', () => {
    assert.throws(() => served[0]?.collection.get('x'), /objects of kind Question are never stored/);
  });
});

describe('an action', () => {
  const steps: string[] = [];
  const asking = {
    type: 'action',
    name: 'ask',
    body: { group, version: 'v1', kind: 'Question', schema },
    prepare: async (body, target) => {
      steps.push('prepare');
      const { data } = await target.read();
      body['text'] = `${body['text']} ${Object.keys(data as object)}`;
    },
    validate: (body) => (String(body['text']).startsWith('rude') ? [invalid('text', '', 'be polite')] : []),
    create: async (body, target, { warn }) => {
      warn('acted');
      await target.update((object) => {
        object['data'] = { ...Object(object['data']), asked: String(body['text']) };
      });
      return { ...body, reply: target.name };
    },
  } as const satisfies Kind['subresources'][number];
  const asked = question('things', 'Namespaced', {
    kind: 'Thing',
    schema: kindSchema('api.questions.v1.Thing', 'Is asked.', {
      data: opt(2, { type: 'map', values: string(), mapType: 'granular' }, 'What it knows.'),
    }),
    strategy: {},
    subresources: [asking],
  });
  const { answer: _, ...thing } = asked;
  const things = `/apis/${group}/v1/namespaces/n/things`;

  async function opened(admission: Admission = watching().admission): Promise<RegistryFixture> {
    steps.length = 0;
    const fixture = await open({ kinds: [thing], admission });
    await fixture.call('POST', things, { metadata: { name: 'a' }, data: { known: '1' } });
    return fixture;
  }

  it('admits its body as a create, and the object it changes not again', async () => {
    const { admission, seen } = watching();
    await using fixture = await opened(admission);
    seen.length = 0;
    const answered = await fixture.object('POST', `${things}/a/ask`, { text: 'shout' });
    assert.deepEqual([answered['text'], answered['reply']], ['SHOUT known', 'a']);
    assert.equal(answered.metadata.namespace, 'n');
    assert.deepEqual(
      answered.metadata.managedFields?.map(({ subresource }) => subresource),
      ['ask'],
    );
    assert.deepEqual(
      seen.map(([step, { operation, info, name, kind, object }]) => [
        step,
        operation,
        `${info.resource}/${info.subresource}`,
        name,
        kind.kind,
        object?.['text'],
      ]),
      ['mutate', 'validate'].map((step) => [step, 'create', 'things/ask', 'a', 'Question', 'SHOUT known']),
    );
    assert.deepEqual((await fixture.object('GET', `${things}/a`))['data'], { known: '1', asked: 'SHOUT known' });
    assert.deepEqual(fixture.warnings, ['acted']);
  });

  it('reads an object that was written right before', async () => {
    await using fixture = await opened();
    await fixture.call('POST', things, { metadata: { name: 'b' }, data: { fresh: '1' } });
    assert.equal((await fixture.object('POST', `${things}/b/ask`, { text: 'x' }))['text'], 'x fresh');
  });

  it('on nothing is NotFound', async () => {
    await using fixture = await opened();
    const error = await fixture.refusal('POST', `${things}/missing/ask`, { text: 'x' });
    assert.deepEqual(error.toStatus(), notFound({ group, resource: 'things' }, 'missing').toStatus());
  });

  it('is validated after it was prepared', async () => {
    await using fixture = await opened();
    const error = await fixture.refusal('POST', `${things}/a/ask`, { text: 'rude' });
    assert.deepEqual(
      [error.code, error.details?.causes?.map(({ field }) => field), steps],
      [422, ['text'], ['prepare']],
    );
    assert.deepEqual((await fixture.object('GET', `${things}/a`))['data'], { known: '1' });
  });

  it('does nothing if admission rejects the body', async () => {
    let refusing = '';
    const step = (name: string) => () => {
      if (refusing === name) throw badRequest(`${name} refuses`);
    };
    await using fixture = await opened({ mutate: step('mutate'), validate: step('validate') });
    for (refusing of ['mutate', 'validate']) {
      const error = await fixture.refusal('POST', `${things}/a/ask`, { text: 'x' });
      assert.equal(error.message, `${refusing} refuses`);
      assert.deepEqual((await fixture.object('GET', `${things}/a`))['data'], { known: '1' });
    }
  });

  it('is rejected if its body names another namespace', async () => {
    await using fixture = await opened();
    assert.equal((await fixture.refusal('POST', `${things}/a/ask`, { metadata: { namespace: 'm' } })).code, 400);
  });

  for (const hanging of ['prepare', 'create'] as const) {
    it(`ends with its request while blocked in ${hanging}`, async () => {
      const ended = new Error('the deadline has passed');
      const reached = Promise.withResolvers<void>();
      const hang = () => {
        reached.resolve();
        return new Promise<never>(() => {});
      };
      const slow = { ...thing, subresources: thing.subresources.map((each) => ({ ...each, [hanging]: hang })) };
      await using fixture = await open({ kinds: [slow as Kind] });
      await fixture.call('POST', things, { metadata: { name: 'a' }, data: { known: '1' } });
      const abort = new AbortController();
      const refused = assert.rejects(fixture.call('POST', `${things}/a/ask`, { text: 'x' }, abort.signal), ended);
      await within(reached.promise, 'reached: never');
      abort.abort(ended);
      await refused;
    });
  }

  it('runs dry', async () => {
    await using fixture = await opened();
    await fixture.call('POST', `${things}/a/ask?dryRun=All`, { text: 'x' });
    assert.deepEqual((await fixture.object('GET', `${things}/a`))['data'], { known: '1' });
  });
});
