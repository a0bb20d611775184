import { chooseControllers, controllerNames, describeController } from '../controllers/controllers.ts';
import { type Flag, list } from './flags.ts';

const items = list({
  default: ['*'],
  help:
    "the controllers that run: 'name' runs one, '-name' does not, '*' is all that are not named; there are " +
    controllerNames.map((name) => `${name} (${describeController(name)})`).join(', '),
});

/** `--controllers`, in the published form: `*,-name`. A flag given again adds to the list; its items are checked. */
export const controllersFlag: Flag<readonly string[]> = {
  ...items,
  parse(value, before) {
    const all = items.parse(value, before);
    chooseControllers(all);
    return all;
  },
};
