import {
  type ControllerName,
  chooseControllers,
  controllerNames,
  describeController,
  isOffByDefault,
} from '../../controllers/controllers.ts';
import { type Flag, integer, list } from './flags.ts';

/** `--controllers` as in kube-controller-manager: `*,-name`. Repeated flags accumulate; items are validated. */
export function controllersFlag(byDefault: readonly string[]): Flag<readonly string[]> {
  const items = list({ default: byDefault, help });
  return {
    ...items,
    parse(value, before) {
      const all = items.parse(value, before);
      chooseControllers(all);
      return all;
    },
  };
}

/** Settings of the controller `simulated-nodes`. */
export const simulatedNodesFlags = {
  'simulated-nodes': integer({
    min: 1,
    max: 100,
    default: 3,
    help: 'number of nodes that the controller simulated-nodes registers',
  }),
} as const;

const help =
  "the controllers that run: 'name' runs one, '-name' does not, '*' is all that are not named, except those that " +
  `must be, 'workloads' is all of workloads; there are ${controllerNames.map(describe).join(', ')}`;

function describe(name: ControllerName): string {
  const off = isOffByDefault(name) ? '; must be named' : '';
  return `${name} (${describeController(name)}${off})`;
}
