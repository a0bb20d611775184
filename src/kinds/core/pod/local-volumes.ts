import { optional, quantity, required, string, struct } from '../../../schema/schema.ts';

export const hostPathVolumeSource = struct('api.core.v1.HostPathVolumeSource', 'A file or directory of the node.', {
  path: required(1, string(), 'Path on the node.'),
  type: optional(
    2,
    string({
      enum: ['', 'DirectoryOrCreate', 'Directory', 'FileOrCreate', 'File', 'Socket', 'CharDevice', 'BlockDevice'],
    }),
    'What must be found or made at the path; empty makes no check.',
    { presence: 'explicit', default: '' },
  ),
});

export const emptyDirVolumeSource = struct(
  'api.core.v1.EmptyDirVolumeSource',
  'A directory that starts empty and lives as long as the pod.',
  {
    medium: optional(
      1,
      string(),
      "What the directory is stored on; empty stands for the node's disk, `Memory` for its memory.",
    ),
    sizeLimit: optional(2, quantity(), 'Most that the directory may hold.', { presence: 'explicit' }),
  },
);

export const gitRepoVolumeSource = struct(
  'api.core.v1.GitRepoVolumeSource',
  'A directory filled from a git repository.',
  {
    repository: required(1, string(), 'Address of the repository.'),
    revision: optional(2, string(), 'Commit to check out.'),
    directory: optional(3, string(), 'Directory to clone into; it contains no `..`.'),
  },
);

export const imageVolumeSource = struct('api.core.v1.ImageVolumeSource', 'The content of an image as a volume.', {
  reference: optional(1, string(), 'Image to mount.'),
  pullPolicy: optional(
    2,
    string({ enum: ['Always', 'Never', 'IfNotPresent'] }),
    'When the image is fetched; `Always` for the tag `latest`, otherwise `IfNotPresent`, unless set.',
  ),
});
