import { readFileSync } from 'node:fs';

/** The administrator of a kubeconfig that a server wrote, and the authority by which it is known. PEM. */
export function kubeconfigCredentials(path: string): {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
} {
  const text = readFileSync(path, 'utf8');
  const part = (name: string): Buffer =>
    Buffer.from(new RegExp(`${name}: *"?([A-Za-z0-9+/=]+)`).exec(text)?.[1] ?? '', 'base64');
  return {
    ca: part('certificate-authority-data'),
    cert: part('client-certificate-data'),
    key: part('client-key-data'),
  };
}
