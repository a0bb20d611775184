import { limits } from '../../base/limits.ts';
import { WorkSlices } from '../../base/time/work-slices.ts';
import { type DecodedPem, decodePem } from '../../pki/decode-pem.ts';

/**
 * The PEM blocks of a field, one character for each byte. A block may be parsed in one go if it has at most
 * `limits.certificateBytesMax`: the generator yields to the event loop between blocks, by their bytes.
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
