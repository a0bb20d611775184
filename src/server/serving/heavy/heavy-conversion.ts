import { asBuffer } from '../../../base/collections/byte-span.ts';
import { identityOf } from '../../../base/collections/shared-content.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import type { Kind } from '../../../kinds/kind.ts';
import { ConversionError } from '../../../resources/conversion-review.ts';
import type { HeavyConversion } from '../../../resources/heavy-conversion.ts';
import type { ConvertInput, ReadConvertedInput, ReadConvertedOutput } from './convert-jobs.ts';
import { kindCalls } from './heavy-work.ts';
import type { JobThread } from './job-thread.ts';
import { ownBytes } from './messages.ts';
import { isHeavy } from './weight.ts';

/** Conversions on the thread for heavy work. */
export function heavyConversion({ thread, dialect }: { thread: JobThread; dialect: Dialect }): HeavyConversion {
  const run = (name: string, kind: Kind, job: { input: () => object; bytes: number; owner: unknown }) =>
    thread.run({
      ...{ name, owner: job.owner, bytes: job.bytes, calls: kindCalls([kind]), warn() {} },
      input: () => ({ dialect: dialect.name, kinds: [identityOf(kind)], ...job.input() }),
    });
  return {
    takes: (stored) => isHeavy(stored, 'text'),
    async convert(stored, kind, owner) {
      const input = (): Pick<ConvertInput, 'bytes'> => ({ bytes: ownBytes(stored) });
      return asBuffer((await run('convert', kind, { input, bytes: stored.length, owner })) as Uint8Array);
    },
    async read(answer, { dialect: _, objects, ...question }, kind, owner) {
      const bytes = objects.reduce((sum, { length }) => sum + length, answer.length);
      const input = (): Omit<ReadConvertedInput, 'dialect' | 'kinds'> => ({
        ...{ question, objects: objects.map(ownBytes), answer: ownBytes(answer) },
      });
      const read = (await run('readConverted', kind, { input, bytes, owner })) as ReadConvertedOutput;
      if (read.type === 'refused') throw new ConversionError(read.failure, read.message);
      return read.objects.map(asBuffer);
    },
  };
}
