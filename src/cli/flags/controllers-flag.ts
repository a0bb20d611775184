import {
  type ControllerName,
  chooseControllers,
  controllerNames,
  describeController,
  isOffByDefault,
} from '../../controllers/controllers.ts';
import { type Flag, list } from './flags.ts';

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

const help =
  "the controllers that run: 'name' runs one, '-name' does not, '*' is all that are not named, except those that " +
  `must be; there are ${controllerNames.map(describe).join(', ')}`;

function describe(name: ControllerName): string {
  const off = isOffByDefault(name) ? '; must be named' : '';
  return `${name} (${describeController(name)}${off})`;
}
