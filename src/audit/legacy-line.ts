import type { AuditEvent } from './event.ts';

/** The published one-line format of `--audit-log-format=legacy`, without a line end. */
export function legacyLine(event: AuditEvent, time: (ms: number) => string): string {
  const { user, impersonatedUser, objectRef, responseStatus, sourceIps } = event;
  const named = user !== undefined && user.username !== '';
  const pairs = [
    ['id', event.auditId],
    ['stage', event.stage],
    ['ip', sourceIps[0] ?? '<unknown>'],
    ['method', event.verb],
    ['user', named ? user.username : '<none>'],
    ['groups', named && user.groups.length > 0 ? quotedList(user.groups) : '<none>'],
    ['as', impersonatedUser?.username ?? '<self>'],
    ['asgroups', impersonatedUser ? quotedList(impersonatedUser.groups) : '<lookup>'],
    ['user-agent', event.userAgent],
    ['namespace', objectRef?.namespace || '<none>'],
    ['uri', event.requestUri],
    ['response', responseStatus ? String(responseStatus.code) : '<deferred>'],
  ];
  const fields = pairs.map(([name, value = '']) => `${name}=${JSON.stringify(value)}`).join(' ');
  return `${time(event.requestReceivedMs)} AUDIT: ${fields}`;
}

const quotedList = (texts: readonly string[]): string => texts.map((text) => JSON.stringify(text)).join();
