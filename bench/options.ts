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
  /** A connection file of another API server that is measured beside the product, and nothing else is. */
  readonly peer: string | undefined;
  readonly help: boolean;
}

export const usage = `Usage: npm run bench -- [--quick] [--only NAME]... [--write] [--profile DIR]
                        [--node-options TEXT]
       npm run bench -- --peer KUBECONFIG [--quick] [--profile DIR]

  --quick        fewer and shorter rounds: ten minutes instead of forty
  --only NAME    only scenarios whose name starts with NAME; may be repeated
  --write        put the tables of what is run into docs/BENCHMARKS.md
  --profile DIR  keep a CPU profile of every process that is measured; figures are then lower
  --node-options TEXT
                 run the product, and not the ceiling, with these options of Node.js
  --peer KUBECONFIG
                 send the same requests to the API server of this connection file, which runs already,
                 and to the product, in turns. Makes a namespace there and removes it
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
      peer: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.write && values.quick) throw new TypeError('--write: the document shows full runs; leave out --quick');
  if (values.peer !== undefined && (values.write || values.only.length > 0)) {
    throw new TypeError('--peer: is a run of its own: leave out --write and --only');
  }
  return {
    quick: values.quick,
    only: values.only,
    write: values.write,
    profileDirectory: values.profile,
    nodeOptions: values['node-options'],
    peer: values.peer,
    help: values.help,
  };
}
