import { parseArgs } from 'node:util';

/** What the command line asks for. */
export interface BenchOptions {
  readonly quick: boolean;
  /** Run only scenarios whose name starts with one of these; empty: all. */
  readonly only: readonly string[];
  /** Put the table into docs/BENCHMARKS.md. */
  readonly write: boolean;
  /** Keep CPU profiles of the product and of the ceiling in this directory. */
  readonly profileDirectory: string | undefined;
  /** More options of the runtime for the product, to see what they do. */
  readonly nodeOptions: string;
  readonly help: boolean;
}

export const usage = `Usage: npm run bench -- [--quick] [--only NAME]... [--write] [--profile DIR]
                        [--node-options TEXT]

  --quick        fewer and shorter rounds: three minutes instead of eleven
  --only NAME    only scenarios whose name starts with NAME; may be repeated
  --write        put the table into docs/BENCHMARKS.md
  --profile DIR  keep a CPU profile of every process that is measured; figures are then lower
  --node-options TEXT
                 run the product, and not the ceiling, with these options of Node.js
`;

/** Throws a TypeError whose message names the argument that is wrong. */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      write: { type: 'boolean', default: false },
      profile: { type: 'string' },
      'node-options': { type: 'string', default: '' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.write && (values.quick || values.only.length > 0)) {
    throw new TypeError('--write: the document shows a whole run: leave out --quick and --only');
  }
  return {
    quick: values.quick,
    only: values.only,
    write: values.write,
    profileDirectory: values.profile,
    nodeOptions: values['node-options'],
    help: values.help,
  };
}
