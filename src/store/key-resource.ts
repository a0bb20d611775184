/** The scope is no part of a folder: scopes are counted together. */
const scopeFolder = /^\/\.scopes\/[^/]*/;

/** Group and resource of a key or prefix, `/apps/deployments/`; '' for keys of the server itself. */
export function folderOf(key: string): string {
  const path = key.startsWith('/.scopes/') ? key.replace(scopeFolder, '') : key;
  // Groups are domain names.
  if (path.startsWith('/.')) return '';
  const group = path.indexOf('/', 1);
  const resource = group < 0 ? -1 : path.indexOf('/', group + 1);
  return resource < 0 ? '' : path.slice(0, resource + 1);
}

/** The resource of a folder as metrics name it, `deployments.apps`; '' for none. */
export function resourceOf(folder: string): string {
  const [, group = '', resource = ''] = folder.split('/');
  return group === 'core' || group === '' ? resource : `${resource}.${group}`;
}
