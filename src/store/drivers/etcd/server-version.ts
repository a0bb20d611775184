/**
 * Whether a member of that version (`3.5.17`) answers progress requests reliably, and not before the events up to the
 * progress: 3.4 from 3.4.31, 3.5 from 3.5.13, and all later ones (etcd's changelogs; KEP-2340 draws the same line).
 */
export const answersProgressRequests = (version: string): boolean => {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  if (major !== 3) return major > 3;
  if (minor < 4) return false;
  if (minor === 4) return patch >= 31;
  if (minor === 5) return patch >= 13;
  return true;
};
