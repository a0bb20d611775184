import { sep } from 'node:path';
import type { Dialect } from '../../dialect/dialect.ts';
import {
  type Authorization,
  type CredentialPlugin,
  type CredentialSource,
  type Impersonation,
  type InteractiveMode,
  interactiveModes,
  type StoredCredential,
} from '../connection-config.ts';
import { findKeyPairProblem } from '../credentials/key-pair.ts';
import { fitsHeader } from '../header-encoding.ts';
import type { ConnectionFile, Fields } from './connection-file.ts';

interface UserContext {
  readonly document: ConnectionFile;
  readonly user: Fields;
  readonly dialect: Dialect;
  /** Passed on to plugins that request it. */
  readonly cluster: Fields;
  readonly authorities: string | undefined;
}

/**
 * The credential of a user in a kubeconfig. As in client-go, a plugin is used only if there is no stored credential,
 * a token file takes precedence over a token, and a password and a token exclude each other.
 */
export function readCredential(context: UserContext): CredentialSource {
  const { document, user } = context;
  if (user['auth-provider'] !== undefined) {
    throw document.error("the user's auth-provider is not supported: credential plugins (exec) have replaced it");
  }
  const plugin = readPlugin(context);
  const stored: StoredCredential = {
    type: 'stored',
    ...readCertificate(document, user),
    ...readAuthorization(document, user),
  };
  const isStored = stored.certificate !== undefined || stored.authorization !== undefined;
  return plugin && !isStored ? { type: 'plugin', plugin } : stored;
}

function readCertificate(
  document: ConnectionFile,
  user: Fields,
): Pick<StoredCredential, 'certificate' | 'certificateFiles'> {
  const certificate = document.content(user, 'client-certificate');
  const key = document.content(user, 'client-key');
  if (certificate === undefined && key === undefined) return {};
  if (certificate === undefined || key === undefined) {
    throw document.error('client-certificate and client-key go together');
  }
  const problem = findKeyPairProblem({ certificate, key });
  if (problem !== undefined) throw document.error(`client-certificate and client-key: ${problem}`);
  const files = readCertificateFiles(document, user);
  return { certificate: { certificate, key }, ...(files && { certificateFiles: files }) };
}

/** Only if both are files: one alone cannot be renewed. */
function readCertificateFiles(document: ConnectionFile, user: Fields): StoredCredential['certificateFiles'] {
  const file = (name: string): string | undefined =>
    document.text(user, `${name}-data`) === undefined ? document.text(user, name) : undefined;
  const [certificate, key] = [file('client-certificate'), file('client-key')];
  if (certificate === undefined || key === undefined) return undefined;
  return { certificate: document.path(certificate), key: document.path(key) };
}

function readAuthorization(
  document: ConnectionFile,
  user: Fields,
): { readonly authorization: Authorization } | undefined {
  const token = document.text(user, 'token');
  const file = document.text(user, 'tokenFile');
  const username = document.text(user, 'username');
  const password = document.text(user, 'password');
  const basic = username !== undefined || password !== undefined;
  if (basic && (token !== undefined || file !== undefined))
    throw document.error('a token and a password exclude each other');
  if (basic) return { authorization: checkBasic(document, username ?? '', password ?? '') };
  if (token !== undefined && !fitsHeader(token))
    throw document.error('the token has characters that no header can carry');
  if (file !== undefined) return { authorization: { type: 'tokenFile', file: document.path(file), token } };
  return token === undefined ? undefined : { authorization: { type: 'token', token } };
}

/** RFC 7617 section 2. */
function checkBasic(document: ConnectionFile, username: string, password: string): Authorization {
  if (username.includes(':')) throw document.error('the username has a colon in it');
  return { type: 'basic', username, password };
}

/** The user to impersonate (spec section 5.7), from the `as…` fields. */
export function readImpersonation(document: ConnectionFile, fields: Fields): Impersonation | undefined {
  const user = document.text(fields, 'as');
  const uid = document.text(fields, 'as-uid');
  const groups = document.texts(fields, 'as-groups');
  const extraFields = document.fields(fields['as-user-extra'] ?? {}, 'as-user-extra');
  const extra = Object.fromEntries(Object.keys(extraFields).map((key) => [key, document.texts(extraFields, key)]));
  const all = [user ?? '', uid ?? '', ...groups, ...Object.values(extra).flat()];
  if (all.some((text) => /[\r\n]/.test(text))) throw document.error('a field as… has a line break in it');
  if (user !== undefined) return { user, uid, groups, extra };
  if (all.some((text) => text !== '') || groups.length > 0 || Object.keys(extra).length > 0) {
    throw document.error('as-uid, as-groups and as-user-extra go together with as');
  }
  return undefined;
}

function readPlugin({ document, user, dialect, cluster, authorities }: UserContext): CredentialPlugin | undefined {
  const value = user['exec'] ?? undefined;
  if (value === undefined) return undefined;
  const exec = document.fields(value, "the user's exec");
  const command = document.text(exec, 'command');
  if (command === undefined) throw document.error("the user's exec does not say which command is meant");
  const apiVersion = readApiVersion(document, exec, dialect);
  return {
    apiVersion,
    command: command.includes('/') || command.includes(sep) ? document.path(command) : command,
    args: document.texts(exec, 'args'),
    env: readEnvironment(document, exec),
    installHint: plainText(document.text(exec, 'installHint')),
    interactiveMode: readInteractiveMode(document, exec, apiVersion),
    cluster: document.boolean(exec, 'provideClusterInfo')
      ? clusterInfo({ document, dialect, cluster, authorities })
      : undefined,
    variable: dialect.credentialPluginVariable,
  };
}

function readApiVersion(document: ConnectionFile, exec: Fields, dialect: Dialect): string {
  const supported = ['v1', 'v1beta1'].map((version) => `${dialect.group('client.authentication')}/${version}`);
  const apiVersion = document.text(exec, 'apiVersion');
  if (apiVersion !== undefined && supported.includes(apiVersion)) return apiVersion;
  throw document.error(`the apiVersion of the user's exec is not ${supported.join(' or ')}`);
}

function readEnvironment(document: ConnectionFile, exec: Fields): CredentialPlugin['env'] {
  return document.objects(exec, 'env').map((item) => {
    const name = document.text(item, 'name');
    if (name === undefined || name.includes('=')) {
      throw document.error("a variable in the env of the user's exec has no name, or one with = in it");
    }
    return { name, value: document.text(item, 'value') ?? '' };
  });
}

/** Only v1beta1 has a default. */
function readInteractiveMode(document: ConnectionFile, exec: Fields, apiVersion: string): InteractiveMode {
  const mode = document.text(exec, 'interactiveMode') ?? (apiVersion.endsWith('/v1beta1') ? 'IfAvailable' : undefined);
  const known = interactiveModes.find((each) => each === mode);
  if (known) return known;
  throw document.error(`the interactiveMode of the user's exec is not ${interactiveModes.join(', ')}`);
}

/** Cluster information for a plugin (`spec.cluster`), with the CA file embedded. */
function clusterInfo({ document, dialect, cluster, authorities }: Omit<UserContext, 'user'>): Fields {
  const serverName = document.text(cluster, 'tls-server-name');
  const extensionName = `${dialect.group('client.authentication')}/exec`;
  const config = document.objects(cluster, 'extensions').find(({ name }) => name === extensionName)?.['extension'];
  return {
    server: document.text(cluster, 'server'),
    ...(serverName !== undefined && { 'tls-server-name': serverName }),
    ...(document.boolean(cluster, 'insecure-skip-tls-verify') && { 'insecure-skip-tls-verify': true }),
    ...(authorities !== undefined && { 'certificate-authority-data': Buffer.from(authorities).toString('base64') }),
    ...(document.boolean(cluster, 'disable-compression') && { 'disable-compression': true }),
    config: config ?? null,
  };
}

/** Escapes control characters, so that a displayed text cannot control the terminal. */
const plainText = (text: string | undefined): string | undefined =>
  text?.replace(/(?![\t-\r])\p{C}/gu, (character) => `U+${hexadecimal(character.codePointAt(0) ?? 0)}`);

const hexadecimal = (codePoint: number): string => codePoint.toString(16).toUpperCase().padStart(4, '0');
