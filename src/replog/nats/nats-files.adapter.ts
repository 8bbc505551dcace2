// The files with which a node logs in to NATS servers: its own, or what the cluster that it joined gave it.
import { readFileSync } from 'node:fs';
import { FinalError } from '../mirror/config-link.ts';

/** Each may be absent. */
export interface NatsFiles {
  /** A credentials file, as `nsc` writes it: a user's token and key. */
  readonly credentials?: NatsFile | undefined;
  /** Certificates of the authorities that sign the servers' certificates. */
  readonly ca?: NatsFile | undefined;
  /** The certificate that the node shows to the servers, and its private key. */
  readonly cert?: NatsFile | undefined;
  readonly key?: NatsFile | undefined;
}

/** The path of a file, or its content. */
export type NatsFile = string | { readonly text: string };

/** The files are read again for each connection, because an operator may replace them. */
export function contents(file: NatsFile): Uint8Array {
  if (typeof file !== 'string') return Buffer.from(file.text);
  try {
    return readFileSync(file);
  } catch (error) {
    throw new FinalError(`cannot read ${file}: ${(error as Error).message}`, { cause: error });
  }
}

/** The files as another node can use them. */
export function withContents(files: NatsFiles): NatsFiles {
  const present = Object.entries(files).filter(([, file]) => file !== undefined);
  return Object.fromEntries(
    present.map(([name, file]) => [name, { text: Buffer.from(contents(file)).toString() }]),
  );
}
