import { chooseControllers, controllerNames, describeController } from '../../controllers/controllers.ts';
import { type Flag, list } from './flags.ts';

const items = list({
  default: ['*'],
  help:
    "the controllers that run: 'name' runs one, '-name' does not, '*' is all that are not named; there are " +
    controllerNames.map((name) => `${name} (${describeController(name)})`).join(', '),
});

/** `--controllers` as in kube-controller-manager: `*,-name`. Repeated flags accumulate; items are validated. */
export const controllersFlag: Flag<readonly string[]> = {
  ...items,
  parse(value, before) {
    const all = items.parse(value, before);
    chooseControllers(all);
    return all;
  },
};
