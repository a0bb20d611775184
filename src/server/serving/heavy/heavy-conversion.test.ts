import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { silentLogger } from '../../../base/logger.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { allAtOnce } from '../../../base/time/in-slices.ts';
import { encodeObject } from '../../../codec/json.ts';
import { insertResourceVersion } from '../../../codec/object-bytes.ts';
import { orch } from '../../../dialect/orch.ts';
import type { Definition } from '../../../kinds/apiextensions/custom-resource-definition.ts';
import { customKinds } from '../../../kinds/custom/custom-kinds.ts';
import { DefinedSchemas } from '../../../kinds/custom/defined-schemas.ts';
import type { Kind } from '../../../kinds/kind.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { ConversionError, type ConversionQuestion, readConverted } from '../../../resources/conversion-review.ts';
import { encodedInVersion, inVersion } from '../../../resources/custom-versions.ts';
import { heavyConversion } from './heavy-conversion.ts';
import { JobThread } from './job-thread.ts';
import { jobsOf } from './jobs.ts';
import { sameThread } from './thread-fixture.ts';

const definition: Definition & ApiObject = {
  ...{ apiVersion: 'apiextensions.orch.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'cows.a.example' } },
  spec: {
    ...{ group: 'a.example', scope: 'Namespaced' },
    versions: ['v1', 'v2'].map((name) => ({
      ...{ name, served: true, storage: name === 'v1' },
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: { size: { type: 'integer' }, open: { 'x-kubernetes-preserve-unknown-fields': true } },
        },
      },
    })),
  },
  status: { acceptedNames: { plural: 'cows', singular: 'cow', kind: 'Cow', listKind: 'CowList' } },
};

describe('conversions on the other thread', () => {
  const thread = new JobThread({ clock: systemClock, logger: silentLogger, startWorker: sameThread(jobsOf(() => [])) });
  after(() => thread.close());
  const heavy = heavyConversion({ thread, dialect: orch });
  const schemas = new DefinedSchemas('one', () => Buffer.from(JSON.stringify(definition)));
  const two = allAtOnce(customKinds(definition, schemas)).kinds[1] as Kind;

  /** The deepest object that a request can write. */
  const deepest = (): unknown => {
    let value: unknown = 1;
    // The object, and `open`.
    for (let level = 2; level < limits.depthMax; level++) value = [value];
    return { value };
  };
  const objects: Readonly<Record<string, object>> = {
    'fields that are not in the other version': { size: 1, other: { a: [1, 2] } },
    'long integers': { size: 9_007_199_254_740_993n, open: [9_007_199_254_740_993n] },
    'names of all sorts': { open: JSON.parse('{"__proto__":{"a":1},"constructor":2,"a\\\\":3,"ü":4}') },
    'as many elements as a request may have': { open: Array.from({ length: limits.elementsMax - 100 }, () => 0) },
    'the deepest nesting': { open: deepest() },
  };
  const encoded = (fields: object, apiVersion = 'a.example/v1'): Buffer => {
    const metadata = { name: 'x', namespace: 'n', uid: 'u', labels: { a: 'b' } };
    const object = { kind: 'Cow', apiVersion, metadata, ...fields } as unknown as ApiObject;
    return insertResourceVersion(encodeObject(object), 7);
  };
  const questionOf = (...asked: readonly Buffer[]): ConversionQuestion => ({
    ...{ version: 'v1', dialect: orch, uid: 'uid', objects: asked, apiVersion: 'a.example/v2' },
  });
  const answerOf = (...converted: readonly Buffer[]): Buffer =>
    Buffer.from(
      `{"kind":"ConversionReview","apiVersion":"apiextensions.orch.io/v1","response":{"uid":"uid","result":{"status":"Success"},"convertedObjects":[${converted.join()}]}}`,
    );

  for (const [what, fields] of Object.entries(objects)) {
    it(`are the same as here: ${what}`, async () => {
      const stored = encoded(fields);
      const here = encodedInVersion(stored, (object) => inVersion(object, two));
      assert.equal((await heavy.convert(stored, two, undefined)).toString(), here.toString());
      const question = questionOf(stored, stored);
      const answer = answerOf(encoded(fields, 'a.example/v2'), encoded(fields, 'a.example/v2'));
      const read = await heavy.read(answer, question, two, undefined);
      assert.deepEqual(read.map(String), [...readConverted(answer, question, two)].map(String));
      assert.deepEqual(read.map(String), [String(here), String(here)]);
    });
  }

  it('refuse wrong answers in the same words', async () => {
    const question = questionOf(encoded({}));
    for (const answer of [Buffer.from('{'), answerOf(), answerOf(encoded({}))]) {
      const refusal = (error: unknown): boolean => {
        assert(error instanceof ConversionError);
        const { failure, message } = error;
        assert.throws(() => [...readConverted(answer, question, two)], { name: 'ConversionError', failure, message });
        return true;
      };
      await assert.rejects(heavy.read(answer, question, two, undefined), refusal);
    }
  });
});
