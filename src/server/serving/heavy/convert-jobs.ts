import { asBuffer } from '../../../base/collections/byte-span.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { dialects } from '../../../dialect/dialects.ts';
import type { Kind } from '../../../kinds/kind.ts';
import { ConversionError, type ConversionQuestion, readConverted } from '../../../resources/conversion-review.ts';
import { encodedInVersion, inVersion } from '../../../resources/custom-versions.ts';
import { ownBytes } from './messages.ts';

/** Conversions as jobs of the thread for heavy work: see `HeavyConversion`. */

/** A stored object of strategy `None`. */
export interface ConvertInput {
  readonly dialect: Dialect['name'];
  /** The kind in whose version it is wanted. */
  readonly kinds: readonly number[];
  readonly bytes: Uint8Array;
}

/** The answer of a conversion webhook. */
export interface ReadConvertedInput {
  readonly dialect: Dialect['name'];
  readonly kinds: readonly number[];
  readonly question: Omit<ConversionQuestion, 'dialect' | 'objects'>;
  readonly objects: readonly Uint8Array[];
  readonly answer: Uint8Array;
}

export type ReadConvertedOutput =
  | { readonly type: 'converted'; readonly objects: readonly Uint8Array[] }
  | ({ readonly type: 'refused' } & Pick<ConversionError, 'failure' | 'message'>);

export const convertJob = ({ bytes }: ConvertInput, kind: Kind): Uint8Array =>
  new Uint8Array(encodedInVersion(asBuffer(bytes), (object) => inVersion(object, kind)));

export function readConvertedJob({ dialect, question, ...input }: ReadConvertedInput, kind: Kind): ReadConvertedOutput {
  const asked = { ...question, dialect: dialects[dialect], objects: input.objects.map(asBuffer) };
  try {
    return { type: 'converted', objects: [...readConverted(asBuffer(input.answer), asked, kind)].map(ownBytes) };
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    return { type: 'refused', failure: error.failure, message: error.message };
  }
}
