import { type FieldError, invalid } from '../../../../meta/field-error.ts';
import { type FormatCheck, isDnsSubdomain } from '../../../../meta/formats.ts';
import type { WindowsOptions } from '../container/security-context.ts';
import type { PodSpec } from '../pod-spec.ts';
import { failing } from './field-checks.ts';

const credentialKibMax = 64;
const domainCharactersMax = 256;
const userCharactersMax = 104;

export function validateWindowsOptions(options: WindowsOptions, path: string): FieldError[] {
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: spec, runAsUserName: user } = options;
  return [
    ...(name === undefined ? [] : failing(isDnsSubdomain, `${path}.gmsaCredentialSpecName`, name)),
    ...(spec === undefined ? [] : failing(isCredential, `${path}.gmsaCredentialSpec`, spec)),
    ...(user === undefined ? [] : failing(isUserName, `${path}.runAsUserName`, user)),
  ];
}

function isCredential(spec: string): string[] {
  if (spec === '') return ['gmsaCredentialSpec cannot be an empty string'];
  return Buffer.byteLength(spec) > credentialKibMax * 1024
    ? [`gmsaCredentialSpec size must be under ${credentialKibMax} KiB`]
    : [];
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const control = /[\x00-\x1f\x7f]/;
const netBiosDomain = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsLabel = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/;

const isDomain = (domain: string): boolean =>
  netBiosDomain.test(domain) || domain.split('.').every((label) => dnsLabel.test(label));

/** A user of the machine, or `domain\user`. */
const isUserName: FormatCheck = (name) => {
  if (name === '') return ['runAsUserName cannot be an empty string'];
  if (control.test(name)) return ['runAsUserName cannot contain control characters'];
  const parts = name.split('\\');
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash'];
  const [domain, user = ''] = parts.length === 2 ? parts : [undefined, name];
  const [length, rule] = [Buffer.byteLength(user), "runAsUserName's User"];
  return [
    ...(domain !== undefined && Buffer.byteLength(domain) >= domainCharactersMax
      ? [`runAsUserName's Domain length must be under ${domainCharactersMax} characters`]
      : []),
    ...(domain !== undefined && !isDomain(domain)
      ? ["runAsUserName's Domain doesn't match the NetBios nor the DNS format"]
      : []),
    ...(length === 0 ? [`${rule} cannot be an empty string`] : []),
    ...(length > userCharactersMax ? [`${rule} length must not be longer than ${userCharactersMax} characters`] : []),
    ...(/["/\\:;|=,+*?<>@[\]]/.test(user)
      ? [`${rule} cannot contain the following characters: "/\\:;|=,+*?<>@[]`]
      : []),
    ...(/^[. ]+$/.test(user) ? [`${rule} cannot contain only periods and spaces`] : []),
  ];
};

const lists = ['initContainers', 'containers', 'ephemeralContainers'] as const;

/** Either all containers of a pod are processes of the node, or none is. Those need its network. */
export function validateHostProcess(spec: PodSpec, path: string): FieldError[] {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  const containers = lists.flatMap((list) =>
    (spec[list] ?? []).map(({ securityContext }, index) => ({
      field: `${path}.${list}[${index}].securityContext.windowsOptions.hostProcess`,
      own: securityContext?.windowsOptions?.hostProcess,
    })),
  );
  const contrary = containers.filter(({ own }) => own !== undefined && ofPod !== undefined && own !== ofPod);
  const processes = containers.filter(({ own }) => own ?? ofPod);
  const rule = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
  const errors = contrary.map(({ field, own }) => invalid(field, own, rule));
  if (processes.length === 0) return errors;
  const allOfThem = 'If pod contains any hostProcess containers then all containers must be HostProcess containers';
  const network = 'hostNetwork must be true if pod contains any hostProcess containers';
  return [
    ...errors,
    ...(processes.length === containers.length ? [] : [invalid(path, '', allOfThem)]),
    ...(spec.hostNetwork ? [] : [invalid(`${path}.hostNetwork`, false, network)]),
  ];
}
