// Cipher suites by their OpenSSL and IANA names. Only suites that authenticate the server by its certificate
// are listed; those with shared keys, passwords or without authentication are not usable here.

/** Key exchange and authentication in an OpenSSL name; absent if both are RSA. */
const exchange = '(?:(ECDHE-ECDSA|ECDHE-RSA|DHE-RSA|ECDHE)-)?';
const cipher = '(AES|ARIA|CAMELLIA)(128|256)(?:-(GCM|CCM))?(?:-(SHA|SHA256|SHA384))?';
const blockCipher = new RegExp(`^${exchange}${cipher}$`);
const chacha = /^(ECDHE-ECDSA|ECDHE-RSA|DHE-RSA)-CHACHA20-POLY1305$/;
/** Suites whose short authentication tags are below every security level that a handshake accepts. */
const truncated = /CCM_?8/;

/** Null for an unknown suite. */
export function ianaName(opensslName: string): string | null {
  const name = opensslName.toUpperCase();
  if (truncated.test(name)) return null;
  if (name.startsWith('TLS_')) return name;
  const stream = chacha.exec(name);
  if (stream) return `TLS_${withUnderscores(stream[1])}_WITH_CHACHA20_POLY1305_SHA256`;
  const [, by, family, bits, mode = 'CBC', hash] = blockCipher.exec(name) ?? [];
  if (!family || (mode !== 'CCM' && !hash)) return null;
  // The only suites whose OpenSSL name omits the RSA authentication.
  const authentication = by === 'ECDHE' ? 'ECDHE-RSA' : (by ?? 'RSA');
  return `TLS_${withUnderscores(authentication)}_WITH_${family}_${bits}_${mode}${hash ? `_${hash}` : ''}`;
}

const withUnderscores = (text: string | undefined): string => (text ?? '').replaceAll('-', '_');

/** The suites that a node can be configured to use. */
export class CipherNames {
  readonly #available: () => readonly string[];
  #byIana: Map<string, string> | null = null;

  /** `available` lists the OpenSSL names of Node's suites; called on first use, because Node takes a while to list them. */
  constructor(available: () => readonly string[]) {
    this.#available = available;
  }

  get #opensslByIana(): Map<string, string> {
    this.#byIana ??= byIana(this.#available());
    return this.#byIana;
  }

  /** IANA names, the newest and safest kinds first. */
  get all(): string[] {
    return [...this.#opensslByIana.keys()].sort((a, b) => kindOf(a) - kindOf(b) || (a < b ? -1 : 1));
  }

  /** The IANA name for either name of a suite; null for one that the runtime does not have. */
  ianaNameOf(name: string): string | null {
    if (this.#opensslByIana.has(name)) return name;
    const iana = ianaName(name);
    return iana !== null && this.#opensslByIana.has(iana) ? iana : null;
  }

  /**
   * OpenSSL names for IANA names; suites that only an older runtime had are left out. If it had all of them alone, the safest kinds take
   * their place: an empty list would mean the runtime's own, which has weaker suites than an administrator may want.
   */
  toOpenssl(names: readonly string[]): string[] {
    const present = this.#opensslOf(names);
    if (present.length > 0 || names.length === 0) return present;
    return this.#opensslOf(this.all.filter((name) => kindOf(name) <= safeKindMax));
  }

  #opensslOf(names: readonly string[]): string[] {
    return names.flatMap((name) => this.#opensslByIana.get(name) ?? []);
  }
}

function byIana(available: readonly string[]): Map<string, string> {
  const pairs = available.map((name) => [ianaName(name), name.toUpperCase()] as const);
  return new Map(pairs.filter((pair): pair is [string, string] => pair[0] !== null));
}

const kinds = [/^TLS_(AES|CHACHA20)/, /^TLS_ECDHE_.*(GCM|POLY1305)/, /^TLS_ECDHE_/, /^TLS_DHE_/, /./];
/** TLS 1.3, and TLS 1.2 with forward secrecy and authenticated encryption. */
const safeKindMax = 1;
const kindOf = (iana: string): number => kinds.findIndex((kind) => kind.test(iana));
