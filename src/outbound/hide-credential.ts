/**
 * The body of an answer that is an error, without the credential of its request where the other side repeats it: errors are shown to
 * clients, and logged.
 */
export function hideCredential(body: Buffer, authorization: string | undefined): Buffer {
  const secrets = secretsIn(authorization).filter((secret) => secret !== '' && body.includes(secret));
  if (secrets.length === 0) return body;
  return Buffer.from(secrets.reduce((text, secret) => text.replaceAll(secret, hidden), body.toString()));
}

const hidden = '***';

/** Of `Basic` the password as well (RFC 7617 section 2). */
function secretsIn(authorization = ''): readonly string[] {
  const [, scheme = '', secret = ''] = /^(\S+) (.*)$/s.exec(authorization) ?? [];
  if (scheme !== 'Basic') return [secret];
  const pair = Buffer.from(secret, 'base64').toString();
  return [secret, pair.slice(pair.indexOf(':') + 1)];
}
