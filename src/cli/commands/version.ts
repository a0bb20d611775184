import packageJson from '../../../package.json' with { type: 'json' };
import { orch } from '../../dialect/orch.ts';
import { defineCommand } from './command.ts';

/** Version of the product. */
export const productVersion: string = packageJson.version;

export const version = defineCommand({
  summary: 'The version of the product, of the API that it serves, and of the runtime',
  description: 'Prints versions.',
  flags: {},
  async run(_values, terminal) {
    terminal.out(`orch ${productVersion}, API ${orch.gitVersion}, Node.js ${process.version}\n`);
    return 0;
  },
});
