import { enumOf, opt, ptr, quantity, req, string, struct } from '../../../../schema/schema.ts';

export const hostPathVolumeSource = struct('api.core.v1.HostPathVolumeSource', 'A file or directory of the node.', {
  path: req(1, string(), 'Path on the node.'),
  type: ptr(2, enumOf('', 'DirectoryOrCreate', 'Directory', 'FileOrCreate', 'File', 'Socket', 'CharDevice', 'BlockDevice'), 'What must be found or made at the path; empty makes no check.', {
    default: '',
  }),
});

export const emptyDirVolumeSource = struct('api.core.v1.EmptyDirVolumeSource', 'A directory that starts empty and lives as long as the pod.', {
  medium: opt(1, string(), "What the directory is stored on; empty stands for the node's disk, `Memory` for its memory."),
  sizeLimit: ptr(2, quantity(), 'Most that the directory may hold.'),
});

export const gitRepoVolumeSource = struct('api.core.v1.GitRepoVolumeSource', 'A directory filled from a git repository.', {
  repository: req(1, string(), 'Address of the repository.'),
  revision: opt(2, string(), 'Commit to check out.'),
  directory: opt(3, string(), 'Directory to clone into; it contains no `..`.'),
});

export const imageVolumeSource = struct('api.core.v1.ImageVolumeSource', 'The content of an image as a volume.', {
  reference: opt(1, string(), 'Image to mount.'),
  pullPolicy: opt(2, enumOf('Always', 'Never', 'IfNotPresent'), 'When the image is fetched; `Always` for the tag `latest`, otherwise `IfNotPresent`, unless set.'),
});
