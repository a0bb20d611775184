import { named } from './flag-files.ts';
import { type Flag, list } from './flags.ts';

const directives: Flag<readonly string[]> = checked(
  list({
    default: [],
    placeholder: 'DIRECTIVE,...',
    help: 'what the header Strict-Transport-Security of every answer says: max-age=SECONDS, includeSubDomains, preload',
  }),
  (items) => {
    const unknown = items.find((item) => !/^(max-age=\d+|includeSubDomains|preload)$/.test(item));
    if (unknown !== undefined) {
      throw new Error(`${JSON.stringify(unknown)} is not one of max-age=SECONDS, includeSubDomains, preload`);
    }
    const names = items.map((item) => item.split('=')[0]);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new Error(`${twice} is given twice`);
  },
);

/**
 * As in kube-apiserver, an expression must pin the start and end of the host: `example.com` alone would allow
 * `example.com.attacker.net` (CVE-2022-1996).
 */
const origins: Flag<readonly string[]> = checked(
  list({
    default: [],
    placeholder: 'REGEXP,...',
    help: String.raw`origins whose pages may use this server with the credentials of their visitors, as in //example\.com(:|$)`,
  }),
  (items) => {
    const loose = items.find((item) => !/\^|\/\//.test(item) || !/[$:]/.test(item));
    if (loose === undefined) return;
    const remedy = String.raw`begin it with ^ or //, and end it with $ or (:|$), as in //example\.com(:|$)`;
    throw new Error(`${JSON.stringify(loose)} does not pin the host: ${remedy}`);
  },
);

/** Flags for CORS and HSTS. */
export const browserFlags = {
  'cors-allowed-origins': origins,
  'strict-transport-security-directives': directives,
} as const;

function checked(flag: Flag<readonly string[]>, check: (items: readonly string[]) => void): Flag<readonly string[]> {
  return {
    ...flag,
    parse(text, before) {
      const items = flag.parse(text, before);
      check(items);
      return items;
    },
  };
}

interface BrowserValues {
  readonly 'cors-allowed-origins': readonly string[];
  readonly 'strict-transport-security-directives': readonly string[];
}

/** Reads these flags. Rejects with a UsageError. The regular expression engine is loaded only if needed. */
export async function readBrowserOptions(
  values: BrowserValues,
): Promise<{ readonly allowedOrigins: readonly string[]; readonly strictTransportSecurity?: string }> {
  const allowedOrigins = values['cors-allowed-origins'];
  const directives = values['strict-transport-security-directives'];
  if (allowedOrigins.length > 0) {
    const { compileOrigins } = await import('../../server/serving/cross-origin.ts');
    named('cors-allowed-origins', () => compileOrigins(allowedOrigins));
  }
  if (directives.length > 0 && !directives.some((item) => item.startsWith('max-age='))) {
    named('strict-transport-security-directives', () => {
      throw new Error('needs max-age=SECONDS: browsers ignore the header otherwise');
    });
  }
  return { allowedOrigins, ...(directives.length > 0 && { strictTransportSecurity: directives.join('; ') }) };
}
