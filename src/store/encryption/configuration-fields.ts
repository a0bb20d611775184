import { type Infer, int32, list, opt, ptr, string, struct } from '../../schema/schema.ts';

const key = struct('api.apiserver.v1.Key', 'A key.', {
  name: opt(1, string(), 'Name of the key, which stored values carry.'),
  secret: opt(2, string(), 'The key, in base64.'),
});

const keys = { keys: opt(1, list(key), 'The keys; the first one encrypts.') };
const aes = struct('api.apiserver.v1.AESConfiguration', 'Keys for AES.', keys);

const kms = struct('api.apiserver.v1.KMSConfiguration', 'A plugin that encrypts keys.', {
  apiVersion: opt(1, string(), 'Version of the plugin API.'),
  name: opt(2, string(), 'Name of the plugin, which stored values carry.'),
  cachesize: ptr(3, int32(), 'Only for version v1.'),
  endpoint: opt(4, string(), 'Address of the plugin.'),
  timeout: ptr(5, string(), 'What a call may take.'),
});

const provider = struct('api.apiserver.v1.ProviderConfiguration', 'One provider.', {
  aesgcm: ptr(1, aes, 'AES in GCM.'),
  aescbc: ptr(2, aes, 'AES in CBC mode.'),
  secretbox: ptr(3, struct('api.apiserver.v1.SecretboxConfiguration', 'Keys for XSalsa20.', keys), 'XSalsa20.'),
  identity: ptr(4, struct('api.apiserver.v1.IdentityConfiguration', 'No encryption.', {}), 'No encryption.'),
  kms: ptr(5, kms, 'A plugin.'),
});

/**
 * Fields of an EncryptionConfiguration. None is required here: validation reports missing ones, in kube-apiserver's words.
 */
export const encryptionConfiguration = struct('api.apiserver.v1.EncryptionConfiguration', 'How values are encrypted.', {
  resources: opt(
    1,
    list(
      struct('api.apiserver.v1.ResourceConfiguration', 'Providers for some resources.', {
        resources: opt(1, list(string()), 'The resources.'),
        providers: opt(2, list(provider), 'The providers; the first one writes.'),
      }),
    ),
    'By resource, in order of precedence.',
  ),
});

export type ConfigurationFields = Infer<typeof encryptionConfiguration>;
export type ProviderFields = Infer<typeof provider>;
export type KeyFields = Infer<typeof key>;
export type KmsFields = Infer<typeof kms>;
