// Authorities and certificates as an operator creates them, with the openssl command.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Pair {
  certificate: string;
  key: string;
}

interface CertificateOptions {
  /** `subjectAltName` of OpenSSL: `DNS:localhost,IP:127.0.0.1`. */
  names?: string;
  /** Days from now; negative: in the past. */
  fromDays?: number;
  toDays?: number;
  isAuthority?: boolean;
}

const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
const dayMs = 24 * 3_600_000;

/** `20260102030405Z`. */
const stamp = (days: number): string =>
  `${new Date(Date.now() + days * dayMs).toISOString().replace(/[-:T]|\.\d+Z/g, '')}Z`;

const settings = (folder: string) => `
[ca]
default_ca = own
[own]
database = ${folder}/index.txt
new_certs_dir = ${folder}
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
copy_extensions = none
[any]
organizationName = optional
commonName = optional
`;

export class OpensslAuthority implements Disposable {
  readonly folder: string;
  readonly certificate: string;
  readonly key: string;

  constructor(
    subject = '/CN=Test authority',
    options: CertificateOptions & { issuer?: OpensslAuthority } = {},
  ) {
    this.folder = mkdtempSync(join(tmpdir(), 'openssl-'));
    writeFileSync(join(this.folder, 'index.txt'), '');
    writeFileSync(join(this.folder, 'settings'), settings(this.folder));
    const { issuer = this } = options;
    const request = this.#request('ca', subject);
    const certificate = issuer.#sign(request, { ...options, isAuthority: true }, issuer === this);
    writeFileSync(join(this.folder, 'ca.pem'), certificate);
    this.certificate = certificate;
    this.key = readFileSync(join(this.folder, 'ca.key'), 'utf8');
  }

  /** A certificate that this authority signed. */
  issue(subject: string, options: CertificateOptions = {}): Pair {
    const request = this.#request('leaf', subject);
    const certificate = this.#sign(request, options, false);
    return { certificate, key: readFileSync(join(this.folder, 'leaf.key'), 'utf8') };
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }

  #request(name: string, subject: string): string {
    const [key, request] = [join(this.folder, `${name}.key`), join(this.folder, `${name}.csr`)];
    openssl(['req', ...curve, '-keyout', key, '-out', request, '-subj', subject]);
    return request;
  }

  #sign(request: string, options: CertificateOptions, isSelf: boolean): string {
    const { folder } = this;
    const certificateFile = join(folder, 'made.pem');
    writeFileSync(join(folder, 'extensions'), extensionsOf(options));
    const signer = isSelf ? ['-selfsign'] : ['-cert', join(folder, 'ca.pem')];
    openssl([
      'ca',
      '-batch',
      '-notext',
      '-config',
      join(folder, 'settings'),
      '-in',
      request,
      '-out',
      certificateFile,
      '-keyfile',
      join(folder, 'ca.key'),
      ...signer,
      '-extfile',
      join(folder, 'extensions'),
      '-startdate',
      stamp(options.fromDays ?? -1),
      '-enddate',
      stamp(options.toDays ?? 3_650),
    ]);
    return readFileSync(certificateFile, 'utf8');
  }
}

function extensionsOf({ names, isAuthority = false }: CertificateOptions): string {
  const kind = isAuthority
    ? 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n'
    : 'basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n';
  return `${kind}${names === undefined ? '' : `subjectAltName=${names}\n`}`;
}

/** The key, encrypted under a passphrase. */
export const encryptedKey = (key: string, passphrase: string): string =>
  openssl(['pkcs8', '-topk8', '-v2', 'aes256', '-passout', `pass:${passphrase}`], key);

const openssl = (args: string[], input?: string): string =>
  execFileSync('openssl', args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    encoding: 'utf8',
    ...(input && { input }),
  });

/** Writes the files into an inbox folder; names that begin with `CA/` are those of authorities. */
export function fillInbox(folder: string, files: Record<string, string>): void {
  mkdirSync(join(folder, 'CA'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}
