/** A name in the path of a proxy: `name`, `name:port` or `scheme:name:port`. */
interface ProxyName {
  readonly scheme: 'http' | 'https' | '';
  readonly name: string;
  /** A number or a name; '' if there is none. */
  readonly port: string;
}

/** Undefined if the text is not of these forms. */
export function parseProxyName(text: string): ProxyName | undefined {
  const parts = text.split(':');
  if (parts.length > 3) return undefined;
  const [name = '', port = ''] = parts.length === 3 ? parts.slice(1) : parts;
  const scheme = parts.length === 3 ? parts[0] : '';
  if (name === '' || (scheme !== '' && scheme !== 'http' && scheme !== 'https')) return undefined;
  return { scheme, name, port };
}

/** The number of a port of TCP; undefined if the text is none. */
export function portNumber(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port > 0 && port <= 65_535 ? port : undefined;
}
