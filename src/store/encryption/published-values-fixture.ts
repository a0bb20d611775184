/**
 * Values as kube-apiserver 1.32.3 stores them, made by its published packages (`storage/value/encrypt`) at the key
 * `/registry/secrets/default/one`: provider, key in base64 (of KMS: the decrypted seed, which the plugin had encrypted by
 * inverting bits 0x5a), plain and stored value in base64. The name of each key is `key1`, that of the plugin `plugin`.
 */
export const publishedAt = '/registry/secrets/default/one';

export interface PublishedValue {
  readonly provider: 'aescbc' | 'aesgcm' | 'secretbox' | 'kms-seed' | 'kms-key';
  readonly key: string;
  readonly plain: string;
  readonly stored: string;
}

const rows: readonly (readonly [PublishedValue['provider'], key: string, plain: string, stored: string])[] = [
  ['aescbc', 'EBceJSwzOkFIT1ZdZGtyeQ==', '', 'azhzOmVuYzphZXNjYmM6djE6a2V5MTp00AefzaCxTWnfn4xN2k3c8JlUjcp8kR/lypO5A1+seQ=='],
  ['aescbc', 'EBceJSwzOkFIT1ZdZGtyeQ==', 'YQ==', 'azhzOmVuYzphZXNjYmM6djE6a2V5MTp6noaCNhSvJ3Mt3DbpNDOlpK6uHvhdzvxodQ09f8IAjw=='],
  ['aescbc', 'EBceJSwzOkFIT1ZdZGtyeQ==', 'MDEyMzQ1Njc4OWFiY2RlZg==', 'azhzOmVuYzphZXNjYmM6djE6a2V5MTq+15/13WC3atB1ojAD8Io3ppTL6aqdzhtTp+ylWVveRJ1RkrBwXuKH0EkbVASANv4='],
  ['aescbc', 'EBceJSwzOkFIT1ZdZGtyeQ==', 'eyJraW5kIjoiU2VjcmV0IiwiYXBpVmVyc2lvbiI6InYxIiwibWV0YWRhdGEiOnsibmFtZSI6Im9uZSJ9LCJkYXRhIjp7InBhc3N3b3JkIjoiYzJWamNtVjAifX0=', 'azhzOmVuYzphZXNjYmM6djE6a2V5MTolohyg0Mkk3zRZN5qf5GAzNEZ/+zOX3iV6wgnoGSwotBW0Rz+sUUr6CRD6oC52ErxRu3nRGaHyKNumHdQ9pgTX8dwRleZPbDUPerfosA6kVpQuaNjPEJ0hn66qlwvUZ+JnqHR8YEKGyS1M5SLn+BK/'],
  ['aesgcm', 'EBceJSwzOkFIT1ZdZGtyeQ==', '', 'azhzOmVuYzphZXNnY206djE6a2V5MTqtCAEOa/IDNEYSaxpoyc1PciGM9H0CfNq60MB3'],
  ['aesgcm', 'EBceJSwzOkFIT1ZdZGtyeQ==', 'YQ==', 'azhzOmVuYzphZXNnY206djE6a2V5MToFd8QS5FliK89kivUIx1JjGkQAov4CCDkq88x8tQ=='],
  ['aesgcm', 'EBceJSwzOkFIT1ZdZGtyeQ==', 'MDEyMzQ1Njc4OWFiY2RlZg==', 'azhzOmVuYzphZXNnY206djE6a2V5MTofqDBonocje95Qb4K6QuJqFB+CXaw0m3NOR4dVywH1jbhnP+6xX81Az2oTgA=='],
  ['aesgcm', 'EBceJSwzOkFIT1ZdZGtyeQ==', 'eyJraW5kIjoiU2VjcmV0IiwiYXBpVmVyc2lvbiI6InYxIiwibWV0YWRhdGEiOnsibmFtZSI6Im9uZSJ9LCJkYXRhIjp7InBhc3N3b3JkIjoiYzJWamNtVjAifX0=', 'azhzOmVuYzphZXNnY206djE6a2V5MTqbJEdQgS0cEvtxmE8pegxHCF5KlC+lvrXyWg/cG3H5Bai/X4yEO33LjvT/O3iqTf7deK2ElTJnqgaYGTgrNieNkNGIpfhZpadpllcAB4gPWpSTKE4nXNAql1x499IQov/eg24CZz1TxtpLqLuUOoXmh6eZwUTxhWc='],
  ['aescbc', 'GB8mLTQ7QklQV15lbHN6gYiPlp2kq7K5', '', 'azhzOmVuYzphZXNjYmM6djE6a2V5MTpePC458ykjkwlMOnJsNiqCTEi0/UixlsNSHw2Gtw9G9w=='],
  ['aescbc', 'GB8mLTQ7QklQV15lbHN6gYiPlp2kq7K5', 'YQ==', 'azhzOmVuYzphZXNjYmM6djE6a2V5MTp1/mmSmlCFTXZ8tMzFTeE/4LyiABbMG8hv+zydnlHL8w=='],
  ['aescbc', 'GB8mLTQ7QklQV15lbHN6gYiPlp2kq7K5', 'MDEyMzQ1Njc4OWFiY2RlZg==', 'azhzOmVuYzphZXNjYmM6djE6a2V5MTpMiYzEs/pPGPkGsL7yzHM0imuL3P/CCiNoXJ7SA1WlWkZGbNWjeT+wuXdSAexZUfA='],
  ['aescbc', 'GB8mLTQ7QklQV15lbHN6gYiPlp2kq7K5', 'eyJraW5kIjoiU2VjcmV0IiwiYXBpVmVyc2lvbiI6InYxIiwibWV0YWRhdGEiOnsibmFtZSI6Im9uZSJ9LCJkYXRhIjp7InBhc3N3b3JkIjoiYzJWamNtVjAifX0=', 'azhzOmVuYzphZXNjYmM6djE6a2V5MTpHXJgDEmnSCyLPT/TqfCGaQDe2AbiOAdmZsUc2jaErSt7j0kb/YyWsqKlqM4uh+C6yDEw2HS/+NWslr0o/zn5ZDC1PRVk37kk/nLUrPMO3QIJ+XHLLNTPhZFoSimFdKEHPIt/nMPoa9NzVcNzSLmdZ'],
  ['aesgcm', 'GB8mLTQ7QklQV15lbHN6gYiPlp2kq7K5', '', 'azhzOmVuYzphZXNnY206djE6a2V5MTp/8xQ5dfzMudfBss4X/aMvBk9Zqls6kRlUygcy'],
  ['aesgcm', 'GB8mLTQ7QklQV15lbHN6gYiPlp2kq7K5', 'YQ==', 'azhzOmVuYzphZXNnY206djE6a2V5MToP4ewMMjT3h+T6H6ibeS/6kOyycxs2EgduZvH4iQ=='],
  ['aesgcm', 'GB8mLTQ7QklQV15lbHN6gYiPlp2kq7K5', 'MDEyMzQ1Njc4OWFiY2RlZg==', 'azhzOmVuYzphZXNnY206djE6a2V5MTpcv9OCUy2bfaWnd5YqYluUDweul4x3KrXUGz9jDBu6w5K52PMXSc5AWQzeMg=='],
  ['aesgcm', 'GB8mLTQ7QklQV15lbHN6gYiPlp2kq7K5', 'eyJraW5kIjoiU2VjcmV0IiwiYXBpVmVyc2lvbiI6InYxIiwibWV0YWRhdGEiOnsibmFtZSI6Im9uZSJ9LCJkYXRhIjp7InBhc3N3b3JkIjoiYzJWamNtVjAifX0=', 'azhzOmVuYzphZXNnY206djE6a2V5MToNidKX+FAjckuCJ3K+1IsaPXcwREyPjzWIsF7bxrM2tzw3J56lbeWI2yyqeKl8NKz8rTLgHSmh057Zy5I0FRmVQCdIrus2RbPXhdrc7mtxIiqH89hV5Oyezko4zhqOSorsJEb2pVOquOJirNnLb154VJX8B9YNc6E='],
  ['aescbc', 'ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vk=', '', 'azhzOmVuYzphZXNjYmM6djE6a2V5MTqjAd8/dfAqjB3amnzhEbS0DzC2iUczYWVxjfL/SfdWRA=='],
  ['aescbc', 'ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vk=', 'YQ==', 'azhzOmVuYzphZXNjYmM6djE6a2V5MTrPQX4U0kte+vnhylVIfvccJZP2Su0BxhqbUGxo81wqkQ=='],
  ['aescbc', 'ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vk=', 'MDEyMzQ1Njc4OWFiY2RlZg==', 'azhzOmVuYzphZXNjYmM6djE6a2V5MTpk3n0JDCp5N/z44dhopFLQUhQ30TOG1HdXBzdeovSNHNGiFxuV9+xJmEfaBzLzfTw='],
  ['aescbc', 'ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vk=', 'eyJraW5kIjoiU2VjcmV0IiwiYXBpVmVyc2lvbiI6InYxIiwibWV0YWRhdGEiOnsibmFtZSI6Im9uZSJ9LCJkYXRhIjp7InBhc3N3b3JkIjoiYzJWamNtVjAifX0=', 'azhzOmVuYzphZXNjYmM6djE6a2V5MTr3s+qQIniwMCnNMprgO4fze8VWLacTMJlsOqmN7VarWhXYsCDHDOfB5ZYKEjx57YQvBtCzkIa+Ov6u2QMRCEZfOH4Yh22TISCIrJkLh+1qsLlHLZi3SYeYZDT1Zu6rWDNxGIYYYmqf8NWcyfhXW4cU'],
  ['aesgcm', 'ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vk=', '', 'azhzOmVuYzphZXNnY206djE6a2V5MTozpQMAza1Ajcy0Wi4yLNS0cNbXkc2ja4tkGyLt'],
  ['aesgcm', 'ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vk=', 'YQ==', 'azhzOmVuYzphZXNnY206djE6a2V5MTrmrtCgDyXloFyR49p2Pf0MzMwZynSSmYmiaD52jA=='],
  ['aesgcm', 'ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vk=', 'MDEyMzQ1Njc4OWFiY2RlZg==', 'azhzOmVuYzphZXNnY206djE6a2V5MTqld7c6f8GYjTlr6knltfVRe6CNPYkjOaseELzt1Kst/KcCLH1LCpbd62WQeA=='],
  ['aesgcm', 'ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vk=', 'eyJraW5kIjoiU2VjcmV0IiwiYXBpVmVyc2lvbiI6InYxIiwibWV0YWRhdGEiOnsibmFtZSI6Im9uZSJ9LCJkYXRhIjp7InBhc3N3b3JkIjoiYzJWamNtVjAifX0=', 'azhzOmVuYzphZXNnY206djE6a2V5MTqz/+iOomiXtbU91Oah3HvOl4zZcnf/kunolhAo9wGsSh/h3w/kP3sjSB3la3fv/aPG0d5/HSk/RwOpfn6QRrmXXpuLQhmqflfOpwXiOiWJX2WBDt3otSASzlWf5R+BcJ/0RCbTYkUQ8M4ADAACHde6VY5XhlcDapE='],
  ['secretbox', 'ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vk=', '', 'azhzOmVuYzpzZWNyZXRib3g6djE6a2V5MTpADgtlPS6NgsuAkR+6lxPwDQi6PYEgdWkcgFIpxXrAX/r6dAnAvYf1'],
  ['secretbox', 'ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vk=', 'YQ==', 'azhzOmVuYzpzZWNyZXRib3g6djE6a2V5MTpNjY/77siAL4fB3bbXrnpM1hb7Q0GJdRI+S2utk6m5MGQ7/ZlaNHFAgw=='],
  ['secretbox', 'ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vk=', 'MDEyMzQ1Njc4OWFiY2RlZg==', 'azhzOmVuYzpzZWNyZXRib3g6djE6a2V5MToJV3uP5mhAVDTbvrxfGqDqXjtlsGgXg52C6OoMM8KjGJ8ioVXH4CziomDm7h4kq/bK/FjOdLspFA=='],
  ['secretbox', 'ICcuNTxDSlFYX2ZtdHuCiZCXnqWss7rByM/W3eTr8vk=', 'eyJraW5kIjoiU2VjcmV0IiwiYXBpVmVyc2lvbiI6InYxIiwibWV0YWRhdGEiOnsibmFtZSI6Im9uZSJ9LCJkYXRhIjp7InBhc3N3b3JkIjoiYzJWamNtVjAifX0=', 'azhzOmVuYzpzZWNyZXRib3g6djE6a2V5MTpsy8bKkcrHr2Ys5QDO8RiHskyRV2IysZYfpga5N3bhRWI15oDgIeDEzJkjB6D8So3ARWUbiQdoZBRRvk2DhIi5IebU/xaSsgL0HCULGGvzC4VnhyHeC731H7SeDhdUUKixvuwYFHLJgfKtIcthTT/MAPhgdnIXdbQxlnDdbpFtSp5d2NU='],
  ['kms-seed', '4anK5++pI89nLIUGY35cESun7xLlOiaMLT6RrZAJGmE=', '', 'azhzOmVuYzprbXM6djI6cGx1Z2luOgo8J1bdeJ2cNZ/XD5NI8bZwv5UV6cWEutGK0lxj/3hD8tudtqi3ksqgdAjzy851Qt3JD3SItgtT16fNAf+nEgVrZXktMRogu/OQvbXzeZU9dt9cOSQGS3H9tUi/YHzWd2TL98pTQDsiHAoVbG9jYWwta2VrLmttcy5leGFtcGxlEgNrZWsoAQ=='],
  ['kms-seed', '4anK5++pI89nLIUGY35cESun7xLlOiaMLT6RrZAJGmE=', 'YQ==', 'azhzOmVuYzprbXM6djI6cGx1Z2luOgo9vtgWcfCC0Up06fCtiea+tWQMj42epqMo9w0PtozCHvm4yFRaWBaYCjB+XqfDjRVpRBxa7DDMVs2AJvEzMRIFa2V5LTEaILvzkL2183mVPXbfXDkkBktx/bVIv2B81ndky/fKU0A7IhwKFWxvY2FsLWtlay5rbXMuZXhhbXBsZRIDa2VrKAE='],
  ['kms-seed', '4anK5++pI89nLIUGY35cESun7xLlOiaMLT6RrZAJGmE=', 'MDEyMzQ1Njc4OWFiY2RlZg==', 'azhzOmVuYzprbXM6djI6cGx1Z2luOgpMFpgbFeWo7dJFkaFJBVFE/3esrZfrVZs1pKyiZZzfTJy1iIBQflYpEeofCcnjscGqk0Rc1ObYExM2XHqGQEniL1uL1KEbSar3PK14URIFa2V5LTEaILvzkL2183mVPXbfXDkkBktx/bVIv2B81ndky/fKU0A7IhwKFWxvY2FsLWtlay5rbXMuZXhhbXBsZRIDa2VrKAE='],
  ['kms-seed', '4anK5++pI89nLIUGY35cESun7xLlOiaMLT6RrZAJGmE=', 'eyJraW5kIjoiU2VjcmV0IiwiYXBpVmVyc2lvbiI6InYxIiwibWV0YWRhdGEiOnsibmFtZSI6Im9uZSJ9LCJkYXRhIjp7InBhc3N3b3JkIjoiYzJWamNtVjAifX0=', 'azhzOmVuYzprbXM6djI6cGx1Z2luOgqYAUjES1maGAbi3QlXIXGP8f4G7TxYeuAVDWQBXyCZheu56M6adLpF6qaY8qq0hs8WSrphTQgotyAMYKAErLVy6ifYJfGI7xalCpMgySG7vJdT9uqmzlXD/IL5ZWkrWcdLSVZwMqs/U1t0hFaFhahHOwMzQYBtw6Kq4bxSRvKg7o5FvshiYqZWwc7qILO2FZyqecshGBDiIjF3EgVrZXktMRogu/OQvbXzeZU9dt9cOSQGS3H9tUi/YHzWd2TL98pTQDsiHAoVbG9jYWwta2VrLmttcy5leGFtcGxlEgNrZWsoAQ=='],
  ['kms-key', 'TjlFxiPJiWKeDyDGt+zcZkSc5dafHh8jeaYjYxE+luo=', '', 'azhzOmVuYzprbXM6djI6cGx1Z2luOgocxsW97gHKmjsAAAAAfc+gm6KG+wDUjflOPn9VjxIFa2V5LTEaIBRjH5x5k9M4xFV6nO22hjwexr+MxURFeSP8eTlLZMywIhwKFWxvY2FsLWtlay5rbXMuZXhhbXBsZRIDa2Vr'],
  ['kms-key', 'TjlFxiPJiWKeDyDGt+zcZkSc5dafHh8jeaYjYxE+luo=', 'YQ==', 'azhzOmVuYzprbXM6djI6cGx1Z2luOgod7/f4dgLKmjsAAAAArm4OAmaOq43E0/bbdrtJjX8SBWtleS0xGiAUYx+ceZPTOMRVepzttoY8Hsa/jMVERXkj/Hk5S2TMsCIcChVsb2NhbC1rZWsua21zLmV4YW1wbGUSA2tlaw=='],
  ['kms-key', 'TjlFxiPJiWKeDyDGt+zcZkSc5dafHh8jeaYjYxE+luo=', 'MDEyMzQ1Njc4OWFiY2RlZg==', 'azhzOmVuYzprbXM6djI6cGx1Z2luOgosePITDQPKmjsAAAAAoaTJEj82GkzIWYHHxr+q5HlvkBkFZLPW2bm5M8taMK8SBWtleS0xGiAUYx+ceZPTOMRVepzttoY8Hsa/jMVERXkj/Hk5S2TMsCIcChVsb2NhbC1rZWsua21zLmV4YW1wbGUSA2tlaw=='],
  ['kms-key', 'TjlFxiPJiWKeDyDGt+zcZkSc5dafHh8jeaYjYxE+luo=', 'eyJraW5kIjoiU2VjcmV0IiwiYXBpVmVyc2lvbiI6InYxIiwibWV0YWRhdGEiOnsibmFtZSI6Im9uZSJ9LCJkYXRhIjp7InBhc3N3b3JkIjoiYzJWamNtVjAifX0=', 'azhzOmVuYzprbXM6djI6cGx1Z2luOgp4uhv3qATKmjsAAAAAURTU3kLIR9ErzcYWv1i7ult0Pycxy/yagEuVYu55QGdTmaNdShGfG1GEOYlyvaoWuOJumMVEp17ioNcALCKuswGzugxR4kvRYeSaerx6adcHqv+v6jUJcUdkdbLAUdcx8/Bqb8q4KUPhqf4aEgVrZXktMRogFGMfnHmT0zjEVXqc7baGPB7Gv4zFREV5I/x5OUtkzLAiHAoVbG9jYWwta2VrLmttcy5leGFtcGxlEgNrZWs='],
];

export const publishedValues: readonly PublishedValue[] = rows.map(([provider, key, plain, stored]) => ({
  ...{ provider, key, plain, stored },
}));
