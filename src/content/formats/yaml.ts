import { yaml as layout } from '../../codec/list-text.ts';
import { parseYaml } from '../../codec/yaml.ts';
import type { Format } from './format.ts';
import { encodeText, itemText, listText } from './text.ts';

/** YAML 1.2. */
export const yaml: Format = {
  name: 'yaml',
  mediaTypes: () => [{ name: 'application/yaml', advertised: true }],
  covers: () => true,
  tables: true,
  isBinary: false,
  isStored: false,
  decode: parseYaml,
  encode: (shown) => encodeText(layout, shown),
  list: (parts) => listText(layout, parts),
  item: (entry, parts) => itemText(layout, entry, parts),
};
