import { limits } from '../../base/limits.ts';
import { WorkSlices } from '../../base/time/work-slices.ts';
import { type DecodedPem, decodePem, PemLimitError } from '../../pki/decode-pem.ts';

/**
 * The PEM blocks of a field, one character for each byte. A block may be parsed in one go if it has at most
 * `limits.certificateBytesMax`: the generator yields to the event loop between blocks, by their bytes. Throws a PemLimitError.
 */
export async function* certificateBlocks(text: string): AsyncGenerator<DecodedPem, void, undefined> {
  const slices = new WorkSlices(limits.certificateStepsPerSlice);
  for (const block of decodePem(text)) {
    for (let at = 0; at <= block.bytes.length; at += limits.certificateBytesPerStep) {
      const yielding = slices.step();
      if (yielding) await yielding;
    }
    yield block;
  }
}

/** What is wrong with a field whose blocks could not be found; throws all other errors. */
export function limitMessage(error: unknown): string {
  if (error instanceof PemLimitError) return error.message;
  throw error;
}
