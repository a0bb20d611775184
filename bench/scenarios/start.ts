import type { Row } from '../report.ts';
import { shortNumber } from '../report.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { statsOf } from '../stats.ts';

/** From spawning the launcher to the first 200 of `/readyz`. */
export const start: Scenario = {
  name: 'start',
  async run(context) {
    return [
      ...(await cold(context)),
      await filled(context, 'objects', await context.filledDirectory()),
      await filled(context, 'Pods', await context.podsDirectory()),
    ];
  },
};

async function cold(context: BenchContext): Promise<readonly Row[]> {
  const { scale, progress } = context;
  // The first start of an installation also fills the compile cache of the runtime.
  progress('cold start: the first after installation');
  const first = await startMs(context);
  const all: number[] = [];
  for (let round = 1; round <= scale.coldStarts; round++) {
    progress(`cold start: ${round} of ${scale.coldStarts}`);
    all.push(await startMs(context));
  }
  return [
    {
      what: 'start on an empty directory, to /readyz',
      unit: 'ms',
      measured: statsOf(all),
      reach: { of: 'measured', atMost: 300 },
      notes: [
        `makes authority, certificates and keys; the very first start after installation: ${shortNumber(first)} ms`,
      ],
    },
  ];
}

async function filled(context: BenchContext, what: 'objects' | 'Pods', directory: string): Promise<Row> {
  const { scale, progress } = context;
  const bytes = what === 'Pods' ? ` of ${(sizes.podBytes / 1000).toFixed(1)} kB` : '';
  const objects = `${sizes.filledObjects.toLocaleString('en-US')} ${what}${bytes}`;
  const all: number[] = [];
  for (let round = 1; round <= scale.filledStarts; round++) {
    progress(`start with ${objects}: ${round} of ${scale.filledStarts}`);
    all.push(await startMs(context, directory));
  }
  return {
    what: `start with ${objects}, to /readyz`,
    unit: 'ms',
    measured: statsOf(all),
    reach: { of: 'measured', atMost: 2_000 },
  };
}

async function startMs(context: BenchContext, directory?: string): Promise<number> {
  await using product = await context.start({ dataDirectory: directory });
  return product.startMs;
}
