import type { Kind } from '../kinds/kind.ts';
import type { ConversionQuestion } from './conversion-review.ts';

/** Conversions that would hold the event loop too long, done elsewhere. Owners take turns. */
export interface HeavyConversion {
  /** Whether converting an encoded object would. */
  takes(stored: Uint8Array): boolean;
  /** See `encodedInVersion`. */
  convert(stored: Buffer, kind: Kind, owner: unknown): Promise<Buffer>;
  /** See `readConverted`. */
  read(answer: Buffer, question: ConversionQuestion, kind: Kind, owner: unknown): Promise<readonly Buffer[]>;
}
