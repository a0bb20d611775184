import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { defineKind } from '../../kinds/define-kind.ts';
import type { Kind, Strategy } from '../../kinds/kind.ts';
import { kindSchema } from '../../kinds/meta/kind-schema.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { StatusError } from '../../meta/status-error.ts';
import { enumOf, opt, string } from '../../schema/schema.ts';
import { RegistryFixture } from '../registry-fixture.ts';
import type { PatchFormat } from './patch-formats.ts';

/** Validations of a kind that return promises (`kinds/validation.ts`), on every path that writes. */

const schema = kindSchema('test.Slow', 'For tests.', {
  text: opt(2, string(), 'Refused if it is `rude`.'),
  colour: opt(3, enumOf('red', 'blue'), 'Refused by the schema if it is another one.'),
  status: opt(4, string(), 'Of the subresource.'),
});

async function later(object: ApiObject, field: string): Promise<readonly FieldError[]> {
  await turn();
  if (object[field] === 'broken') throw new Error('the validation is broken');
  return object[field] === 'rude' ? [invalid(field, 'rude', 'be polite')] : [];
}

const slow = (strategy: Strategy): Kind =>
  defineKind({
    group: 'slow.example',
    kind: 'Slow',
    scope: 'Cluster',
    schema,
    strategy,
    createOnUpdate: true,
    subresources: [
      {
        type: 'view',
        name: 'status',
        verbs: ['get', 'update', 'patch'],
        prepareForUpdate: (object, old) => Object.assign(object, { text: old['text'], colour: old['colour'] }),
        validateUpdate: (object) => later(object, 'status'),
      },
    ],
  });

const strategies: Readonly<Record<string, Strategy>> = {
  'of the object': {
    validateCreate: (object) => later(object, 'text'),
    validateUpdate: (object) => later(object, 'text'),
  },
  'of every update': {
    validateCreate: (object) => later(object, 'text'),
    validateEveryUpdate: (object) => later(object, 'text'),
  },
};

const path = '/apis/slow.example/v1/slows';
const kindOf = { apiVersion: 'slow.example/v1', kind: 'Slow' };
const bodyOf = (name: string, fields: object): object => ({ ...kindOf, metadata: { name }, ...fields });

interface Row {
  readonly what: string;
  readonly method: string;
  readonly target: string;
  readonly body: (fields: object) => unknown;
  readonly patch?: PatchFormat;
  /** The field that the endpoint may change. Default: `text`. */
  readonly field?: 'status';
}

const rows: readonly Row[] = [
  { what: 'create', method: 'POST', target: path, body: (fields) => bodyOf('new', fields) },
  {
    what: 'create in a dry run',
    method: 'POST',
    target: `${path}?dryRun=All`,
    body: (fields) => bodyOf('new', fields),
  },
  { what: 'update', method: 'PUT', target: `${path}/one`, body: (fields) => bodyOf('one', fields) },
  {
    what: 'update in a dry run',
    method: 'PUT',
    target: `${path}/one?dryRun=All`,
    body: (fields) => bodyOf('one', fields),
  },
  { what: 'create by update', method: 'PUT', target: `${path}/new`, body: (fields) => bodyOf('new', fields) },
  { what: 'merge patch', method: 'PATCH', target: `${path}/one`, body: (fields) => fields, patch: 'merge' },
  {
    what: 'JSON patch',
    method: 'PATCH',
    target: `${path}/one`,
    body: (fields) => Object.entries(fields).map(([name, value]) => ({ op: 'add', path: `/${name}`, value })),
    patch: 'json',
  },
  { what: 'strategic patch', method: 'PATCH', target: `${path}/one`, body: (fields) => fields, patch: 'strategic' },
  {
    what: 'apply',
    method: 'PATCH',
    target: `${path}/one?fieldManager=a&force=true`,
    body: (fields) => bodyOf('one', fields),
    patch: 'apply',
  },
  {
    what: 'create by apply',
    method: 'PATCH',
    target: `${path}/new?fieldManager=a`,
    body: (fields) => bodyOf('new', fields),
    patch: 'apply',
  },
  {
    what: 'update of status',
    method: 'PUT',
    target: `${path}/one/status`,
    body: (fields) => bodyOf('one', fields),
    field: 'status',
  },
  {
    what: 'merge patch of status',
    method: 'PATCH',
    target: `${path}/one/status`,
    body: (fields) => fields,
    patch: 'merge',
    field: 'status',
  },
];

for (const [name, strategy] of Object.entries(strategies)) {
  describe(`asynchronous validation ${name}`, () => {
    for (const { what, method, target, body, patch, field = 'text' } of rows) {
      const open = async (): Promise<RegistryFixture> => {
        const fixture = await RegistryFixture.open({ kinds: [slow(strategy)] });
        await fixture.call('POST', path, bodyOf('one', { text: 'hello' }));
        if (patch) fixture.patchType = patch;
        return fixture;
      };
      const stored = async (fixture: RegistryFixture) =>
        (await fixture.list(path)).items.map(({ metadata, ...rest }) => [metadata.name, rest['text'], rest['status']]);

      it(`${what}: refused, with what the schema finds`, async () => {
        await using fixture = await open();
        const fields = { [field]: 'rude', ...(field === 'text' && { colour: 'green' }) };
        const { details } = await fixture.refusal(method, target, body(fields));
        const found = details?.['causes'] as readonly { readonly field: string }[];
        assert.deepEqual(
          found.map((each) => each.field),
          field === 'text' ? ['text', 'colour'] : ['status'],
        );
        assert.deepEqual(await stored(fixture), [['one', 'hello', undefined]]);
      });

      it(`${what}: done`, async () => {
        await using fixture = await open();
        const object = await fixture.object(method, target, body({ [field]: 'polite' }));
        assert.equal(object[field], 'polite');
      });

      it(`${what}: an error of the validation itself refuses`, async () => {
        await using fixture = await open();
        const error = await fixture.refusal(method, target, body({ [field]: 'broken' }));
        assert.ok(!(error instanceof StatusError && error.reason === 'Invalid'), String(error));
        assert.deepEqual(await stored(fixture), [['one', 'hello', undefined]]);
      });

      it(`${what}: ends with its request`, async () => {
        await using fixture = await open();
        const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
        const never = (): Promise<never> => {
          reach();
          return new Promise(() => {});
        };
        const kind = slow({ validateCreate: never, validateEveryUpdate: never });
        await using waiting = await RegistryFixture.open({ store: fixture.store, kinds: [kind] });
        if (patch) waiting.patchType = patch;
        const abort = new AbortController();
        const answered = waiting.call(method, target, body({ [field]: 'polite' }), abort.signal);
        await Promise.race([reached, answered]);
        abort.abort(new StatusError('Timeout', 'too late'));
        await assert.rejects(answered, /too late/);
        assert.deepEqual(await stored(fixture), [['one', 'hello', undefined]]);
      });
    }
  });
}

describe('asynchronous validation of a kind that is answered and not stored', () => {
  const answered = {
    ...slow({ validateCreate: (object) => later(object, 'text') }),
    subresources: [],
    createOnUpdate: false,
  };
  const kind: Kind = { ...answered, answer: (object) => object };

  it('refuses, with what the schema finds', async () => {
    await using fixture = await RegistryFixture.open({ kinds: [kind] });
    const { details } = await fixture.refusal('POST', path, bodyOf('', { text: 'rude', colour: 'green' }));
    const found = details?.['causes'] as readonly { readonly field: string }[];
    assert.deepEqual(
      found.map((each) => each.field),
      ['colour', 'text'],
    );
  });

  it('is waited for', async () => {
    await using fixture = await RegistryFixture.open({ kinds: [kind] });
    assert.equal((await fixture.object('POST', path, bodyOf('', { text: 'polite' })))['text'], 'polite');
  });
});
