import {
  type ControllerName,
  chooseControllers,
  controllerNames,
  describeController,
  isOffByDefault,
} from '../../controllers/controllers.ts';
import { type Flag, integer, list, orUndefined } from './flags.ts';

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
  'simulated-nodes': orUndefined(
    integer({
      min: 1,
      max: 100,
      default: 3,
      help: 'number of nodes that the controller simulated-nodes registers, which runs where this is given',
    }),
  ),
} as const;

interface ControllerValues {
  readonly controllers: readonly string[];
  readonly 'simulated-nodes': number | undefined;
}

/** The controllers that run. Who asks for simulated nodes asks for their controller, unless it is excluded by name. */
export const chosenControllers = ({
  controllers,
  'simulated-nodes': nodes,
}: ControllerValues): readonly ControllerName[] =>
  chooseControllers(nodes === undefined ? controllers : [...controllers, 'simulated-nodes']);

const help =
  "the controllers that run: 'name' runs one, '-name' does not, '*' is all that are not named, except those that " +
  `must be, 'workloads' is all of workloads; there are ${controllerNames.map(describe).join(', ')}`;

function describe(name: ControllerName): string {
  const off = isOffByDefault(name) ? '; must be named' : '';
  return `${name} (${describeController(name)}${off})`;
}
