/** What an API server upgrades to, and where. A server of another version is taken for none. */
export const protocol = 'orch-store-1';
export const storePath = '/orch/store';
