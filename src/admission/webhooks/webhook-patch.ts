import { parseJson } from '../../codec/json.ts';
import { internalFailure, StatusError } from '../../meta/status-error.ts';
import { applyJsonPatch, parseJsonPatch } from '../../patch/json-patch.ts';
import { problemOf } from '../../patch/patch-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { Matched } from '../matching/match-index.ts';
import { CallFailure } from './call-webhook.ts';
import { jsonPatch, type ReviewAnswer } from './review-answer.ts';
import type { Webhook } from './webhook.ts';
import { webhookRefusal } from './webhook-refusal.ts';

type Operations = ReturnType<typeof parseJsonPatch>;

interface Patch {
  readonly document: readonly unknown[];
  readonly operations: Operations;
}

/**
 * Changes the object as a webhook asks, and returns the document of the patch; it is empty if nothing was asked. Throws a CallFailure
 * for an unknown type of patch. Whatever else is wrong with one is an error of the server's, which no failure policy ignores.
 */
export async function applyPatch(
  { item: { name }, as }: Matched<Webhook>,
  { patch: sent, result }: ReviewAnswer,
  attributes: AdmissionAttributes,
): Promise<readonly unknown[]> {
  const { document, operations } = sent ? decodePatch(sent.body) : noPatch;
  if (!sent || operations.length === 0) return [];
  const { object } = attributes;
  if (!object) {
    const title = `admission webhook ${JSON.stringify(name)}`;
    throw internalFailure(`${title} attempted to modify the object, which is not supported for this operation`);
  }
  if (sent.type !== jsonPatch) {
    throw new CallFailure(`unsupported patch type ${JSON.stringify(sent.type)}`, webhookRefusal(name, result).code);
  }
  const shown = await attributes.inVersion(object, as);
  await attributes.replace(patched(shown, operations), as);
  return document;
}

const noPatch: Patch = { document: [], operations: [] };

/** As in Go, `null` is a list without operations. */
function decodePatch(body: Buffer): Patch {
  try {
    const document = parseJson(body).value ?? [];
    return {
      operations: parseJsonPatch(document, { valueMayBeAbsent: true }),
      document: document as readonly unknown[],
    };
  } catch (error) {
    throw internalOf(error);
  }
}

function patched(object: unknown, operations: Operations): unknown {
  try {
    return applyJsonPatch(object, operations);
  } catch (error) {
    throw internalOf(error);
  }
}

const internalOf = (error: unknown): StatusError =>
  internalFailure(error instanceof StatusError ? problemOf(error) : (error as Error).message, error);
