// How commands reach a running node: address and account. A password on the command line can be read by every user of the machine, so
// it can also come from the environment, a file or standard input.
import { readFileSync } from 'node:fs';
import { httpUrl } from './cloud-options.ts';
import { kinds, UsageError } from './options.ts';

/** `service`: what listens at the address; `user`: which user the command needs. */
export const connectionOptions = (address: string, service: string, user: string) =>
  ({
    url: { kind: httpUrl, default: address, doc: service },
    username: { kind: kinds.text, default: 'Administrator', doc: user },
    password: { kind: kinds.text, doc: 'password of that user; better given by environment or file' },
    'password-file': {
      kind: kinds.path,
      doc: 'file whose first line is the password; -: standard input',
    },
  }) as const;

export const nodeConnection = (user: string) =>
  connectionOptions('http://127.0.0.1:8091', 'REST API of a node', user);

interface GivenPassword {
  readonly password: string | undefined;
  readonly 'password-file': string | undefined;
}

const passwordBytesMax = 10_000;

/** The password from the option, the file, standard input or the environment. @throws UsageError if there is none */
export function passwordOf(given: GivenPassword): string {
  const { password, 'password-file': file } = given;
  if (file === undefined) {
    if (password !== undefined) return password;
    throw new UsageError(
      'the password is missing: set DIVAN_PASSWORD, or give --password-file PATH (-: standard input)',
    );
  }
  if (password !== undefined)
    throw new UsageError('--password and --password-file are given; give one of them');
  const [line = ''] = contentOf(file).split(/\r?\n/);
  if (line === '') throw new UsageError(`--password-file: the first line of ${file} is empty`);
  return line;
}

function contentOf(file: string): string {
  try {
    const content = readFileSync(file === '-' ? 0 : file);
    if (content.length <= passwordBytesMax) return content.toString();
  } catch (error) {
    throw new UsageError(`--password-file: cannot read ${file}: ${(error as Error).message}`);
  }
  throw new UsageError(
    `--password-file: ${file} has more than ${passwordBytesMax} bytes; it should have one line`,
  );
}
