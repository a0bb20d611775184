import { mergeConfiguration } from '../../apply/merge-configuration.ts';
import type { ExpressionEvaluation } from '../../kinds/admissionregistration/evaluate-expressions.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import { applyJsonPatch, parseJsonPatch } from '../../patch/json-patch.ts';
import { problemOf, testFailure } from '../../patch/patch-error.ts';
import type { StructSchema } from '../../schema/schema.ts';
import type { CompiledMutation } from './policy-expressions.ts';

/** What a mutation makes of an object, or why it fails, in the words of kube-apiserver. */
type MutatedObject =
  /** Must still be decoded and defaulted. The object itself if the mutation leaves it as it is. */
  { readonly type: 'object'; readonly object: unknown } | { readonly type: 'failed'; readonly message: string };

interface Mutated {
  readonly object: ApiObject;
  /** Schema of the object. */
  readonly schema: StructSchema;
  /** Of expressions that see the object as it is now. */
  readonly evaluation: ExpressionEvaluation;
}

export async function evaluateMutation(
  { type, expression }: CompiledMutation,
  { object, schema, evaluation }: Mutated,
): Promise<MutatedObject> {
  if (expression.type === 'error') return failed(expression.detail);
  const evaluating = evaluation.evaluate(expression);
  const result = evaluating instanceof Promise ? await evaluating : evaluating;
  if (result.type !== 'value') return failed(result.message);
  const { configurationOf, patchOf } = await import('../../kinds/admissionregistration/mutation-results.ts');
  if (type === 'jsonPatch') {
    const operations = patchOf(result.value);
    return operations.type === 'failed' ? operations : patched(object, operations.value);
  }
  const configuration = configurationOf(result.value);
  if (configuration.type === 'failed') return configuration;
  const merged = mergeConfiguration(schema, object, configuration.value);
  return merged.type === 'merged'
    ? { type: 'object', object: merged.object }
    : failed(`error applying patch: ${merged.problem}`);
}

const failed = (message: string): MutatedObject => ({ type: 'failed', message });

/** A test that does not hold is no failure: the patch is not applied. */
function patched(object: ApiObject, operations: readonly unknown[]): MutatedObject {
  try {
    return { type: 'object', object: applyJsonPatch(object, parseJsonPatch(operations)) };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return error.cause === testFailure ? { type: 'object', object } : failed(`JSON Patch: ${problemOf(error)}`);
  }
}
